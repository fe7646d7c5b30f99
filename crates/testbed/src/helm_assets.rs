//! Helm, for tests of the chart. Only what asks for it needs it.

use std::path::PathBuf;

use crate::assets::{AssetError, filled};
use crate::go_build::{self, Module, Source};

const HELM: Module = Module {
    folder: "helm",
    upstream: "helm.sh/helm/v3",
    programs: &[("helm", "helm.sh/helm/v3/cmd/helm")],
    inputs: &[],
    effort: "once, about three minutes on two cores",
};

/// Finds Helm in the cache, building it if need be. Blocks; says what it does on stderr.
///
/// # Errors
/// When it cannot be built.
pub fn prepare_helm() -> Result<PathBuf, AssetError> {
    let source = Source::find(&HELM)?;
    let folder = filled(&source.folder_name(), &["helm"], |scratch| go_build::build_all(&source, scratch))?;
    Ok(folder.join("helm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helm_is_named_by_its_version_and_has_no_wrapper_to_read() {
        let source = Source::find(&HELM).unwrap();
        assert!(source.folder_name().starts_with("helm-v3."), "{}", source.folder_name());
        assert!(!source.dir.join("cmd").exists());
    }
}
