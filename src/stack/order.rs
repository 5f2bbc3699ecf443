//! What stands where, for people.
use super::Settings;
use std::{fmt, sync::Arc, time::Duration};

/// The layers of a stack from the outside in, with what was set of them.
#[derive(Debug)]
pub(super) struct Order {
    settings: Settings,
    routes: Vec<Arc<str>>,
}

impl Order {
    pub(super) fn new(settings: Settings, routes: Vec<Arc<str>>) -> Self {
        Self { settings, routes }
    }

    fn around(&self) -> Vec<String> {
        let Settings { deadline, failover, .. } = &self.settings;
        let mut layers = vec!["observe (operation)".to_owned()];
        layers.push(match deadline {
            Some(total) => format!("timeout (deadline {total:?})"),
            None => "timeout (deadline of the request)".to_owned(),
        });
        if self.routes.len() > 1 {
            if self.settings.rounds() > 1 {
                layers.push(format!("retry ({} rounds)", self.settings.rounds()));
            }
            layers.push(format!("failover ({failover})"));
        }
        layers
    }

    fn inside(&self) -> Vec<String> {
        let Settings { max_retries, recovery, concurrency, first_byte, first_token, whole, idle, .. } = &self.settings;
        let retries = max_retries.map_or_else(|| "retry".to_owned(), |most| format!("retry ({most})"));
        let concurrency = match concurrency {
            Some(most) => format!("concurrency_limit ({most})"),
            None => "concurrency_limit (none)".to_owned(),
        };
        let limits = [("first byte", first_byte), ("first token", first_token), ("whole", whole), ("idle", idle)];
        let shown = |(name, limit): (&str, &Option<Duration>)| limit.map(|limit| format!("{name} {limit:?}"));
        let limits: Vec<_> = limits.into_iter().filter_map(shown).collect();
        let timeout = match limits.is_empty() {
            true => "timeout (attempt)".to_owned(),
            false => format!("timeout (attempt: {})", limits.join(", ")),
        };
        let recovery = format!("recovery ({recovery:?})");
        let attempt = ["circuit_breaker".to_owned(), "observe (attempt)".to_owned(), timeout, "service".to_owned()];
        [retries, recovery, concurrency].into_iter().chain(attempt).collect()
    }
}

/// On one line: `a > b > [one | other] > c`; with `{:#?}` one layer a line.
impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes = match &*self.routes {
            [] | [_] => None,
            names => Some(format!("[{}]", names.join(" | "))),
        };
        let layers = self.around().into_iter().chain(routes).chain(self.inside());
        for (depth, layer) in layers.enumerate() {
            match (f.alternate(), depth) {
                (true, _) => write!(f, "\n{:width$}{layer}", "", width = 2 * (depth + 1))?,
                (false, 0) => f.write_str(&layer)?,
                (false, _) => write!(f, " > {layer}")?,
            }
        }
        Ok(())
    }
}
