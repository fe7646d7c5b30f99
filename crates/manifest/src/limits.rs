//! How much a file may ask of us. Real manifests stay far below each of these.

/// Bytes of one file. The API server refuses larger requests, so a larger file could not be applied anyway.
pub const MAX_FILE_BYTES: usize = 3 * 1024 * 1024;

/// Documents of one file. Rendered charts hold some hundreds; more is a separator storm.
pub const MAX_DOCUMENTS: usize = 2_000;

/// Levels of lists and objects. The deepest field of a pod sits at about a dozen, the deepest schema of a CRD at
/// about thirty. Each level costs the YAML reader some 20 KiB of stack in a debug build, so that this many fit a
/// thread of 2 MiB with room to spare; later readers (JSON text, hashes) refuse only at 128.
pub const MAX_DEPTH: usize = 64;

/// Bytes of one string. All annotations of an object together may hold 256 KiB, and no environment variable holds
/// more than half of that.
pub const MAX_STRING_BYTES: usize = 256 * 1024;

/// Values of one file, keys included, after aliases are written out: one for each dozen bytes of the
/// largest file, where manifests spend about twice that on a value.
pub const MAX_NODES: usize = 250_000;

/// Bytes of text of one file after aliases are written out: twice what the file may hold without any.
pub const MAX_EXPANDED_BYTES: usize = 2 * MAX_FILE_BYTES;

/// Parser events that aliases of one document may repeat. People share a few labels or probes this way.
pub const MAX_ALIAS_EVENTS: usize = 50_000;

/// Aliases inside aliased values. Sane files use one or two levels; a tower of them is how small files explode.
pub const MAX_ALIAS_DEPTH: usize = 16;

/// Bytes of anchored text the parser may hold for repeating.
pub const MAX_ANCHOR_BYTES: usize = 2 * MAX_FILE_BYTES;

/// Errors reported per document; nobody reads further before fixing the first.
pub const MAX_ERRORS: usize = 100;
