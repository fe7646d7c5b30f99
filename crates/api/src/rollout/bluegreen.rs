//! The blue-green strategy.

use super::{AntiAffinity, RolloutAnalysis};
use crate::values::{IntOrString, Metadata};
use crate::wire::wire;

wire! {
    /// Two full sets of pods and one switch between them.
    pub struct BlueGreenStrategy {
        /// Seconds before the new pods are scaled down after an abort. Default 30; 0 keeps them.
        "abortScaleDownDelaySeconds" abort_scale_down_delay_seconds: i32,
        /// Labels and annotations on the pods that take production traffic.
        "activeMetadata" active_metadata: Metadata,
        /// The Service that takes production traffic.
        "activeService" [required] active_service: String,
        /// Keeps pods of different revisions on different nodes.
        "antiAffinity" anti_affinity: AntiAffinity,
        /// Whether to switch without waiting for a person. Default true.
        "autoPromotionEnabled" auto_promotion_enabled: bool,
        /// Seconds after which to switch although autoPromotionEnabled is false.
        "autoPromotionSeconds" auto_promotion_seconds: i32,
        /// Pods that may be missing during restarts. Default 25%.
        "maxUnavailable" max_unavailable: IntOrString,
        /// Analysis after the switch; failure switches back.
        "postPromotionAnalysis" post_promotion_analysis: RolloutAnalysis,
        /// Analysis before the switch; failure prevents it.
        "prePromotionAnalysis" pre_promotion_analysis: RolloutAnalysis,
        /// Labels and annotations on the pods behind the preview Service.
        "previewMetadata" preview_metadata: Metadata,
        /// How many new pods to run before the switch. Default: all.
        "previewReplicaCount" preview_replica_count: i32,
        /// The Service through which the new pods can be tried before the switch.
        "previewService" preview_service: String,
        /// How many old ReplicaSets may wait for their scale-down delay at once.
        "scaleDownDelayRevisionLimit" scale_down_delay_revision_limit: i32,
        /// Seconds the old pods stay after the switch. Default 30.
        "scaleDownDelaySeconds" scale_down_delay_seconds: i32,
    }
}
