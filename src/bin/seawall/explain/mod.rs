//! Says what a provider's answer is, and what the stack would do about it.
mod answer;
mod jsonl;
mod verdict;

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use answer::Answer;
use seawall::classify::Classifier;

/// As much of one answer as is read; providers' answers are far smaller.
const LIMIT: u64 = 16 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// What `curl -i` printed; standard input if left out
    file: Option<PathBuf>,
    /// Who answered, such as `openai` or `cohere`: a few codes mean different things to different providers
    #[arg(long)]
    provider: Option<String>,
    /// Read one JSON object a line (id, provider, surface, status, headers, body), print one verdict a line
    #[arg(long, conflicts_with = "provider")]
    jsonl: bool,
}

impl Explain {
    pub(crate) fn run(self) -> io::Result<()> {
        let input: Box<dyn Read> = match &self.file {
            Some(path) => {
                Box::new(Named { path: path.clone(), inner: File::open(path).map_err(|e| of_file(path, &e))? })
            }
            None => Box::new(io::stdin().lock()),
        };
        let mut output = io::BufWriter::new(io::stdout().lock());
        match self.jsonl {
            true => jsonl::run(io::BufReader::new(input), &mut output)?,
            false => self.one(input, &mut output)?,
        }
        output.flush()
    }

    fn one(&self, input: impl Read, output: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::new();
        input.take(LIMIT).read_to_end(&mut bytes)?;
        let answer = Answer::from_curl(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let classifier = match &self.provider {
            Some(name) => Classifier::new().provider(name.clone()),
            None => Classifier::new(),
        };
        verdict::print(&answer, answer.classify(&classifier).as_ref(), output)
    }
}

/// A file whose failures say which it is.
struct Named {
    path: PathBuf,
    inner: File,
}

impl Read for Named {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.inner.read(into).map_err(|error| of_file(&self.path, &error))
    }
}

fn of_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
