//! Figures for Prometheus: counted as things happen, or computed when somebody asks.
//!
//! ```text
//!   page.rs      one answer to a scrape, as text
//!   series.rs    counters and histograms by label values
//!   queue.rs     the `workqueue_*` family of client-go
//!   process.rs   what the operating system says about this process
//! ```

mod page;
mod process;
mod queue;
mod series;

use std::sync::{Arc, Mutex, PoisonError};

pub use page::{CONTENT_TYPE, Page};
pub use process::Process;
pub use queue::QueueFigures;
pub(crate) use queue::{Named as NamedQueue, bounds as queue_bounds};
pub use series::{Counters, Distribution, Histograms};

/// Something that has figures.
pub trait Source: Send + Sync {
    /// Writes them down.
    fn collect(&self, page: &mut Page);
}

/// All sources of a process. Clones share them.
#[derive(Clone, Default)]
pub struct Registry(Arc<Mutex<Vec<Arc<dyn Source>>>>);

impl Registry {
    /// From now on this source is asked too.
    pub fn add(&self, source: impl Source + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(source));
    }

    /// All figures at this moment, in the text format of Prometheus.
    pub fn text(&self) -> String {
        // Sources may take their time: whoever registers meanwhile must not wait for them.
        let sources = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut page = Page::default();
        for source in &sources {
            source.collect(&mut page);
        }
        page.text()
    }
}
