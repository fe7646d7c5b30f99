//! Files that people write, read strictly.
