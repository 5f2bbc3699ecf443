use super::{
    Capabilities,
    capabilities::Row,
    name::{order, spellings},
    parse,
};
use crate::Invalid;
use std::{
    fmt,
    sync::{Arc, LazyLock},
};

/// A table of models: what each takes. `Models::default()` is the one that comes with seawall, `src/models/models.toml`.
///
/// Clones share the rows. A [`Client`](crate::provider::Client) looks each request's model up in its own.
///
/// ```
/// use seawall::{Models, provider::OpenAi};
///
/// let mine = Models::parse(
///     r#"
///     [[model]]
///     names = ["sea-7b", "sea-70b"]
///     context_window = 131_072                # tokens, of prompt and answer together
///     max_output = 8_192                      # tokens; a higher `max_tokens` is brought down to it
///     refuses = ["seed", "top_k"]             # settings and fields of `extra` that are left out
///     not_both = [["temperature", "top_p"]]   # of these only the first is sent
///     "#,
/// )?;
/// let models = mine.or(&Models::default());
/// assert!(models.get("sea-7b").refuses("seed") && models.get("o3").refuses("temperature"));
///
/// let dialect = OpenAi::without_key().base_url("http://127.0.0.1:8000/v1");
/// # async fn canned(_: http::Request<http_body_util::Full<bytes::Bytes>>) -> std::io::Result<http::Response<String>> {
/// #     Ok(http::Response::new(String::new()))
/// # }
/// # let service = tower::service_fn(canned);
/// let client = dialect.over(service).models(&models);
/// # let _ = client;
/// # Ok::<(), seawall::Invalid>(())
/// ```
///
/// Every field but `names` may be missing. Three more are for models that reason: `developer = true` where instructions are
/// called `developer`, `refuses_while_reasoning`, and `reasons = true` where the model reasons unless `reasoning_effort` is
/// `none`.
///
/// A name is looked for behind the last `/`, in any case, and must be there as a whole: `gpt-5.9` is no `gpt-5`. A dated
/// snapshot (`-20250929`, `-2024-08-06`, `@20250929`), `-latest` and OpenRouter's choices of a route (`:free`) are the same model,
/// where no row has that very name.
#[derive(Clone)]
pub struct Models(Arc<[Arc<Rows>]>);

/// Those of one text, by their names.
pub(super) type Rows = Vec<(Box<str>, Arc<Row>)>;

static KNOWN: LazyLock<Models> =
    LazyLock::new(|| Models::parse(include_str!("models.toml")).expect("a test reads the table"));

impl Models {
    /// No model is known, so that all may be asked of any.
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::default())
    }

    /// Reads a table of rows such as those of `models.toml`.
    ///
    /// # Errors
    /// Says which row, which of its fields, and what to change.
    pub fn parse(toml: &str) -> Result<Self, Invalid> {
        Ok(Self(Arc::new([Arc::new(parse::rows(toml)?)])))
    }

    /// Asks `next` for the models that this one does not know. A row is taken as a whole.
    #[must_use]
    pub fn or(self, next: &Self) -> Self {
        Self(self.0.iter().chain(next.0.iter()).cloned().collect())
    }

    /// What the model takes; everything, where no row has its name.
    #[must_use]
    pub fn get(&self, model: &str) -> Capabilities {
        let row = self.0.iter().find_map(|rows| spellings(model).find_map(|name| row(rows, name)));
        row.map_or_else(Capabilities::default, |row| Capabilities::of(Arc::clone(row)))
    }
}

fn row<'a>(rows: &'a Rows, name: &str) -> Option<&'a Arc<Row>> {
    let at = rows.binary_search_by(|(known, _)| order(known, name)).ok()?;
    Some(&rows[at].1)
}

impl Default for Models {
    fn default() -> Self {
        KNOWN.clone()
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: usize = self.0.iter().map(|rows| rows.len()).sum();
        write!(f, "Models({names})")
    }
}
