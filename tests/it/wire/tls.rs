//! Peers that fail in the handshake.
use super::listening;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivateKeyDer},
};

pub const BAD_RECORD_MAC: u8 = 20;
pub const HANDSHAKE_FAILURE: u8 = 40;

/// A certificate that it signed itself.
pub struct Identity {
    key: KeyPair,
    certificate: rcgen::Certificate,
}

impl Identity {
    pub fn of(name: &str) -> Self {
        Self::made(&CertificateParams::new([name.to_owned()]).unwrap())
    }

    pub fn expired(name: &str) -> Self {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(2001, 1, 1);
        Self::made(&params)
    }

    fn made(params: &CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    /// A client that trusts it, and nobody else.
    pub fn trusted(&self) -> reqwest::Client {
        let root = reqwest::Certificate::from_der(self.certificate.der()).unwrap();
        reqwest::Client::builder().no_proxy().tls_certs_only([root]).build().unwrap()
    }

    /// The URL of a server that shows it, and answers whoever accepts that.
    pub async fn server(&self) -> String {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![self.certificate.der().clone()], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        https(&listening(move |socket| answered(socket, acceptor.clone())).await)
    }
}

async fn answered(socket: TcpStream, acceptor: TlsAcceptor) {
    let Ok(mut stream) = acceptor.accept(socket).await else { return };
    let _ = stream.read(&mut [0; 4096]).await;
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await;
    let _ = stream.shutdown().await;
}

/// The URL of a peer that answers the first record with a fatal alert.
pub async fn alerting(alert: u8) -> String {
    https(&listening(move |socket| alerted(socket, alert)).await)
}

async fn alerted(mut socket: TcpStream, alert: u8) {
    const FATAL: u8 = 2;
    let _ = socket.read(&mut [0; 4096]).await;
    let _ = socket.write_all(&[21, 3, 3, 0, 2, FATAL, alert]).await;
    let _ = socket.shutdown().await;
    let _ = socket.read(&mut [0; 4096]).await;
}

fn https(url: &str) -> String {
    url.replace("http:", "https:")
}
