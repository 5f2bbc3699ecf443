//! A collector of OpenTelemetry on loopback, that keeps what it is sent, and reads it by the protocol's own numbers.
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

pub struct Collector {
    address: SocketAddr,
    posts: Arc<Mutex<Vec<Post>>>,
}

#[derive(Clone, Default)]
pub struct Post {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Collector {
    /// Answers each request with this status.
    pub fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, posts) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let kept = Arc::clone(&posts);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                thread::spawn(move || answer(stream, status, &kept));
            }
        });
        Self { address, posts }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn posts(&self) -> Vec<Post> {
        self.posts.lock().unwrap().clone()
    }

    pub fn spans(&self) -> Vec<Span> {
        self.posts().iter().flat_map(|post| spans(&post.body)).collect()
    }
}

fn answer(stream: TcpStream, status: u16, posts: &Mutex<Vec<Post>>) {
    let (mut reader, mut post, mut line) = (BufReader::new(stream), Post::default(), String::new());
    reader.read_line(&mut line).unwrap();
    post.path = line.split(' ').nth(1).unwrap().to_owned();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        post.headers.insert(name.to_lowercase(), value.to_owned());
    }
    post.body = vec![0; post.headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut post.body).unwrap();
    posts.lock().unwrap().push(post);
    let head = format!("HTTP/1.1 {status} x\r\ncontent-type: application/x-protobuf\r\nlocation: /elsewhere\r\n");
    write!(reader.get_mut(), "{head}content-length: 0\r\nconnection: close\r\n\r\n").unwrap();
}

#[derive(Clone, Debug)]
pub struct Span {
    pub service: String,
    pub name: String,
    pub id: Vec<u8>,
    pub parent: Vec<u8>,
    pub trace: Vec<u8>,
    /// 3 is a client's.
    pub kind: u64,
    /// 2 is an error.
    pub status: u64,
    pub fields: BTreeMap<String, String>,
    pub events: Vec<String>,
}

/// `ExportTraceServiceRequest` of opentelemetry-proto 1.
fn spans(body: &[u8]) -> Vec<Span> {
    let mut found = Vec::new();
    for of_resource in all(body, 1) {
        let service = all(of_resource, 1).first().and_then(|resource| fields(resource, 1).remove("service.name"));
        for span in all(of_resource, 2).into_iter().flat_map(|of_scope| all(of_scope, 2)) {
            let bytes = |number| all(span, number).first().copied().unwrap_or_default();
            found.push(Span {
                service: service.clone().unwrap_or_default(),
                name: text(bytes(5)),
                id: bytes(2).to_vec(),
                parent: bytes(4).to_vec(),
                trace: bytes(1).to_vec(),
                kind: number(span, 6),
                status: number(bytes(15), 3),
                fields: fields(span, 9),
                events: all(span, 11).into_iter().map(|event| text(all(event, 2)[0])).collect(),
            });
        }
    }
    found
}

/// `KeyValue`s, each as text.
fn fields(message: &[u8], of: u64) -> BTreeMap<String, String> {
    let field = |pair| {
        let value = match parts(all(pair, 2)[0]).first() {
            Some((1, Part::Bytes(value))) => text(value),
            Some((2, Part::Number(value))) => (*value == 1).to_string(),
            Some((3, Part::Number(value))) => value.to_string(),
            other => format!("{other:?}"),
        };
        (text(all(pair, 1)[0]), value)
    };
    all(message, of).into_iter().map(field).collect()
}

#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The parts of a message of protobuf, each with its number.
fn parts(mut left: &[u8]) -> Vec<(u64, Part<'_>)> {
    let mut found = Vec::new();
    while !left.is_empty() {
        let tag = varint(&mut left);
        let part = match tag & 7 {
            0 => Part::Number(varint(&mut left)),
            1 => Part::Bytes(left.split_off(..8).unwrap()),
            2 => {
                let long = usize::try_from(varint(&mut left)).unwrap();
                Part::Bytes(left.split_off(..long).unwrap())
            }
            5 => Part::Bytes(left.split_off(..4).unwrap()),
            other => panic!("no kind of part: {other}"),
        };
        found.push((tag >> 3, part));
    }
    found
}

fn varint(left: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *left.split_off_first().unwrap();
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn all(message: &[u8], number: u64) -> Vec<&[u8]> {
    let of = |(n, part)| match part {
        Part::Bytes(bytes) if n == number => Some(bytes),
        _ => None,
    };
    parts(message).into_iter().filter_map(of).collect()
}

fn number(message: &[u8], number: u64) -> u64 {
    let of = |(n, part)| match part {
        Part::Number(value) if n == number => Some(value),
        _ => None,
    };
    parts(message).into_iter().find_map(of).unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
