//! CRDs and install manifests, generated.
