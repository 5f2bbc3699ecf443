//! What can be set, on the command line or in the environment.
use clap::Parser;
use seawall::{
    Invalid,
    failover::On,
    provider::{Anthropic, OpenAi, Preset, Reqwest},
    recovery::Recovery,
    serve::Limits,
    stack::Boxed,
};
use std::{env, net::SocketAddr, num::NonZero, str::FromStr, time::Duration};

/// Serves /v1/chat/completions and /v1/messages over a stack of routes.
#[derive(Parser, Debug)]
pub(crate) struct Settings {
    /// Where to listen; port 0 takes a free one, and the first line says which.
    #[arg(long, env = "SEAWALL_LISTEN", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// How many threads serve. One answers some thousands of calls a second, and wakes no other for each.
    #[arg(long, env = "SEAWALL_THREADS", default_value = "1")]
    pub(crate) threads: NonZero<usize>,
    /// A route: name=…,dialect=openai|anthropic or the name of a preset[,base-url=…][,key-env=NAME][,model=…][,larger=yes]. Repeat it, in
    /// the order in which they are asked; in the environment they stand apart by blanks. A larger one takes prompts that are too long for
    /// those before it.
    #[arg(long = "route", env = "SEAWALL_ROUTES", value_delimiter = ' ', required = true)]
    pub(crate) routes: Vec<RouteSettings>,
    /// What fails over, beside refusals of our own: 429, overloaded, server, timeout, transport, quota.
    #[arg(long, env = "SEAWALL_ON", value_delimiter = ',')]
    on: Vec<Switch>,
    /// How long a call may take in all, to the first content of a stream. Times are in seconds, such as 0.5.
    #[arg(long, env = "SEAWALL_DEADLINE", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// How long the head of a stream may take.
    #[arg(long, env = "SEAWALL_FIRST_BYTE", value_parser = seconds)]
    pub(crate) first_byte: Option<Duration>,
    /// How long the first content may take.
    #[arg(long, env = "SEAWALL_FIRST_TOKEN", value_parser = seconds)]
    pub(crate) first_token: Option<Duration>,
    /// How long a stream may be silent.
    #[arg(long, env = "SEAWALL_IDLE", value_parser = seconds)]
    pub(crate) idle: Option<Duration>,
    /// How long an attempt may take that answers whole.
    #[arg(long, env = "SEAWALL_WHOLE", value_parser = seconds)]
    pub(crate) whole: Option<Duration>,
    #[arg(long, env = "SEAWALL_CONNECT_TIMEOUT", value_parser = seconds, default_value = "10")]
    pub(crate) connect_timeout: Duration,
    /// The longest wait that is worth more than a switch.
    #[arg(long, env = "SEAWALL_WAIT_AT_MOST", value_parser = seconds, default_value = "0")]
    pub(crate) wait_at_most: Duration,
    /// What becomes of a stream that is cut: `fail` tells its reader, `restart` shows nothing before the end, and asks again.
    #[arg(long, env = "SEAWALL_RECOVERY", default_value = "fail")]
    recovery: OnCut,
    /// How often a route is asked again.
    #[arg(long, env = "SEAWALL_RETRIES", default_value_t = 2)]
    pub(crate) retries: u32,
    /// The first wait before a route is asked again, and the longest, where the provider names none: they double, with jitter.
    #[arg(long, env = "SEAWALL_BACKOFF", value_parser = two_times, value_name = "FIRST,LONGEST")]
    pub(crate) backoff: Option<(Duration, Duration)>,
    /// Of how many calls to a route the failures are counted; it is left alone when half of them failed.
    #[arg(long, env = "SEAWALL_CIRCUIT")]
    pub(crate) circuit: Option<u32>,
    /// How long a route is left alone then, and at most when it fails again.
    #[arg(long, env = "SEAWALL_OPEN_FOR", value_parser = two_times, value_name = "FIRST,LONGEST")]
    pub(crate) open_for: Option<(Duration, Duration)>,
    /// How many calls a route answers at once.
    #[arg(long, env = "SEAWALL_CONCURRENCY")]
    pub(crate) concurrency: Option<usize>,
    /// The largest request, in bytes.
    #[arg(long, env = "SEAWALL_BODY_LIMIT", default_value_t = 32 * 1024 * 1024)]
    body_limit: usize,
    /// How long answers may go on when the service is told to stop.
    #[arg(long, env = "SEAWALL_GRACE", value_parser = seconds, default_value = "30")]
    pub(crate) grace: Duration,
    /// The collector that spans are sent to, such as http://127.0.0.1:4318.
    #[cfg(feature = "otlp")]
    #[arg(long, env = "SEAWALL_OTLP")]
    pub(crate) otlp: Option<String>,
}

impl Settings {
    pub(crate) fn limits(&self) -> Result<Limits, Invalid> {
        Limits::default().body(self.body_limit)
    }

    /// Whether a rate limit switches, and what else.
    pub(crate) fn switches(&self) -> (bool, Vec<On>) {
        let on = self.on.iter().filter_map(|switch| match switch {
            Switch::RateLimit => None,
            Switch::On(on) => Some(*on),
        });
        (self.on.iter().any(|switch| matches!(switch, Switch::RateLimit)), on.collect())
    }

    pub(crate) fn recovery(&self) -> Recovery {
        match self.recovery {
            OnCut::Fail => Recovery::Fail,
            OnCut::Restart => Recovery::BufferThenRestart,
        }
    }
}

/// One route.
#[derive(Clone, Debug)]
pub(crate) struct RouteSettings {
    pub(crate) name: String,
    dialect: String,
    base_url: Option<String>,
    key_env: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) is_larger: bool,
}

impl FromStr for RouteSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut fields = ["name", "dialect", "base-url", "key-env", "model", "larger"].map(|name| (name, None));
        for pair in text.split(',') {
            let (field, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` is no field=value"))?;
            let known = fields.iter_mut().find(|(name, _)| *name == field);
            let (_, place) = known.ok_or_else(|| format!("there is no field `{field}`"))?;
            *place = Some(value.to_owned()).filter(|value| !value.is_empty());
        }
        let [name, dialect, base_url, key_env, model, larger] = fields.map(|(_, value)| value);
        let dialect = dialect.ok_or("`dialect` is missing: openai, anthropic, or the name of a preset")?;
        let is_larger = match larger.as_deref() {
            None | Some("no") => false,
            Some("yes") => true,
            Some(_) => return Err("`larger` must be yes or no".to_owned()),
        };
        Ok(Self { name: name.unwrap_or_else(|| dialect.clone()), dialect, base_url, key_env, model, is_larger })
    }
}

impl RouteSettings {
    /// A client in a box, so that routes of all dialects are of one type.
    pub(crate) fn client(&self, http: Reqwest) -> Result<Boxed, String> {
        let key = match &self.key_env {
            Some(name) => Some(env::var(name).map_err(|_| format!("the variable {name} of `key-env` is not set"))?),
            None => None,
        };
        if self.dialect == "anthropic" {
            let dialect = key.map_or_else(Anthropic::without_key, Anthropic::new);
            let dialect = match &self.base_url {
                Some(url) => dialect.base_url(url.as_str()),
                None => dialect,
            };
            return Ok(Boxed::new(dialect.over(http)));
        }
        let dialect = match (self.dialect.as_str(), key) {
            ("openai", Some(key)) => OpenAi::new(key),
            ("openai", None) => OpenAi::without_key(),
            (name, key) => {
                let preset = Preset::named(name).ok_or_else(|| format!("there is no dialect `{name}`"))?;
                key.map_or_else(|| preset.without_key(), |key| preset.with_key(key))
            }
        };
        let dialect = match &self.base_url {
            Some(url) => dialect.base_url(url.as_str()),
            None => dialect,
        };
        Ok(Boxed::new(dialect.over(http)))
    }
}

#[derive(Clone, Copy, Debug)]
enum Switch {
    RateLimit,
    On(On),
}

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "429" => Self::RateLimit,
            "overloaded" => Self::On(On::Overloaded),
            "server" => Self::On(On::Server),
            "timeout" => Self::On(On::Timeout),
            "transport" => Self::On(On::Transport),
            "quota" => Self::On(On::QuotaExhausted),
            _ => return Err("must be 429, overloaded, server, timeout, transport or quota".to_owned()),
        })
    }
}

#[derive(Clone, Copy, Debug)]
enum OnCut {
    Fail,
    Restart,
}

impl FromStr for OnCut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fail" => Ok(Self::Fail),
            "restart" => Ok(Self::Restart),
            _ => Err("must be fail or restart".to_owned()),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be seconds, such as 0.5".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn two_times(text: &str) -> Result<(Duration, Duration), String> {
    let (first, longest) = text.split_once(',').ok_or("must be two times, such as 0.5,8")?;
    Ok((seconds(first)?, seconds(longest)?))
}
