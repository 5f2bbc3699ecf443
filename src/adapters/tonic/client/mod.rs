// `layer`, `service` and `judge` stand around a channel: `told` reads a status, `verdict` says what it means, `reading` and
// `answer` see to what comes before the first message and behind it. `outer` stands around the stack, for a generated client:
// `request` keeps what it sends, `status` gives it errors as it knows them.
mod answer;
mod details;
mod judge;
mod layer;
mod outer;
mod reading;
mod request;
mod service;
mod status;
mod told;
mod verdict;

pub use answer::AnswerBody;
pub use judge::GrpcJudge;
pub use layer::GrpcClassifyLayer;
pub use outer::{ClientFuture, GrpcClient, GrpcClientLayer};
pub use reading::GrpcReading;
pub use request::RequestBody;
pub use service::GrpcClassify;
pub use status::StatusBody;
