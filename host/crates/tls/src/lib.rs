//! The way out over HTTP: who asks a server takes its client from here, so that there is one cryptography for all of them. *ring* is
//! built in seconds, where the default of `rustls` is minutes of C.

use reqwest::{Client, ClientBuilder};

/// Says which cryptography clients have that are made elsewhere, as those of an object store.
pub fn prepare() {
    // Whoever was first chose the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client to be, with `reqwest`'s defaults.
pub fn client() -> ClientBuilder {
    prepare();
    Client::builder()
}
