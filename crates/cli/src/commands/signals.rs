//! Ctrl-C and friends, for commands that wait.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that end a wait, and the one that says that the terminal has another size.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    resize: Signal,
}

impl Signals {
    /// From here on these signals do not end the program by themselves.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            resize: signal(SignalKind::window_change())?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Wish {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => Wish::End,
            _ = self.terminate.recv() => Wish::End,
            _ = self.resize.recv() => Wish::Redraw,
        }
    }

    /// Waits until somebody wants an end.
    pub(super) async fn end(&mut self) {
        while self.next().await != Wish::End {}
    }
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// To stop.
    End,
    /// To draw again, because the terminal has another size.
    Redraw,
}
