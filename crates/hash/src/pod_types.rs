//! Field order of the pod template and everything inside it, as the Kubernetes API types of v0.34 declare it.
//!
//! Each line is a type and its fields in printing order. Marks: `!` always printed, `*` pointer (printed when
//! present, even if zero or empty), no mark: dropped when zero. After a colon comes what the field holds, a string
//! unless said otherwise: `[x]` is a list, `{x}` a map from strings, `x?` prints `null` when unset, `raw` is JSON
//! kept as text, a capital letter starts a type of this table. `..X` stands for all fields of `X`.

/// The table.
pub(crate) const TABLE: &str = r"
PodTemplateSpec: metadata!:ObjectMeta spec!:PodSpec
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation:int64 creationTimestamp:time
    deletionTimestamp*:time deletionGracePeriodSeconds*:int64 labels:{string} annotations:{string}
    ownerReferences:[OwnerReference] finalizers:[string] managedFields:[ManagedFieldsEntry]
OwnerReference: apiVersion! kind! name! uid! controller*:bool blockOwnerDeletion*:bool
ManagedFieldsEntry: manager operation apiVersion time*:time fieldsType fieldsV1*:raw subresource
PodSpec: volumes:[Volume] initContainers:[Container] containers!:[Container] ephemeralContainers:[EphemeralContainer]
    restartPolicy terminationGracePeriodSeconds*:int64 activeDeadlineSeconds*:int64 dnsPolicy nodeSelector:{string}
    serviceAccountName serviceAccount automountServiceAccountToken*:bool nodeName hostNetwork:bool hostPID:bool
    hostIPC:bool shareProcessNamespace*:bool securityContext*:PodSecurityContext
    imagePullSecrets:[LocalObjectReference] hostname subdomain affinity*:Affinity schedulerName
    tolerations:[Toleration] hostAliases:[HostAlias] priorityClassName priority*:int32 dnsConfig*:PodDNSConfig
    readinessGates:[PodReadinessGate] runtimeClassName* enableServiceLinks*:bool preemptionPolicy*
    overhead:{quantity} topologySpreadConstraints:[TopologySpreadConstraint] setHostnameAsFQDN*:bool os*:PodOS
    hostUsers*:bool schedulingGates:[PodSchedulingGate] resourceClaims:[PodResourceClaim]
    resources*:ResourceRequirements hostnameOverride*
Volume: name! hostPath*:HostPathVolumeSource emptyDir*:EmptyDirVolumeSource
    gcePersistentDisk*:GCEPersistentDiskVolumeSource awsElasticBlockStore*:AWSElasticBlockStoreVolumeSource
    gitRepo*:GitRepoVolumeSource secret*:SecretVolumeSource nfs*:NFSVolumeSource iscsi*:ISCSIVolumeSource
    glusterfs*:GlusterfsVolumeSource persistentVolumeClaim*:PersistentVolumeClaimVolumeSource rbd*:RBDVolumeSource
    flexVolume*:FlexVolumeSource cinder*:CinderVolumeSource cephfs*:CephFSVolumeSource flocker*:FlockerVolumeSource
    downwardAPI*:DownwardAPIVolumeSource fc*:FCVolumeSource azureFile*:AzureFileVolumeSource
    configMap*:ConfigMapVolumeSource vsphereVolume*:VsphereVirtualDiskVolumeSource quobyte*:QuobyteVolumeSource
    azureDisk*:AzureDiskVolumeSource photonPersistentDisk*:PhotonPersistentDiskVolumeSource
    projected*:ProjectedVolumeSource portworxVolume*:PortworxVolumeSource scaleIO*:ScaleIOVolumeSource
    storageos*:StorageOSVolumeSource csi*:CSIVolumeSource ephemeral*:EphemeralVolumeSource image*:ImageVolumeSource
Container: name! image command:[string] args:[string] workingDir ports:[ContainerPort] envFrom:[EnvFromSource]
    env:[EnvVar] resources!:ResourceRequirements resizePolicy:[ContainerResizePolicy] restartPolicy*
    restartPolicyRules:[ContainerRestartRule] volumeMounts:[VolumeMount] volumeDevices:[VolumeDevice]
    livenessProbe*:Probe readinessProbe*:Probe startupProbe*:Probe lifecycle*:Lifecycle terminationMessagePath
    terminationMessagePolicy imagePullPolicy securityContext*:SecurityContext stdin:bool stdinOnce:bool tty:bool
EphemeralContainer: ..Container targetContainerName
PodSecurityContext: seLinuxOptions*:SELinuxOptions windowsOptions*:WindowsSecurityContextOptions runAsUser*:int64
    runAsGroup*:int64 runAsNonRoot*:bool supplementalGroups:[int64] supplementalGroupsPolicy* fsGroup*:int64
    sysctls:[Sysctl] fsGroupChangePolicy* seccompProfile*:SeccompProfile appArmorProfile*:AppArmorProfile
    seLinuxChangePolicy*
LocalObjectReference: name
Affinity: nodeAffinity*:NodeAffinity podAffinity*:PodAffinity podAntiAffinity*:PodAntiAffinity
Toleration: key operator value effect tolerationSeconds*:int64
HostAlias: ip! hostnames:[string]
PodDNSConfig: nameservers:[string] searches:[string] options:[PodDNSConfigOption]
PodReadinessGate: conditionType!
TopologySpreadConstraint: maxSkew!:int32 topologyKey! whenUnsatisfiable! labelSelector*:LabelSelector
    minDomains*:int32 nodeAffinityPolicy* nodeTaintsPolicy* matchLabelKeys:[string]
PodOS: name!
PodSchedulingGate: name!
PodResourceClaim: name! resourceClaimName* resourceClaimTemplateName*
ResourceRequirements: limits:{quantity} requests:{quantity} claims:[ResourceClaim]
HostPathVolumeSource: path! type*
EmptyDirVolumeSource: medium sizeLimit*:quantity
GCEPersistentDiskVolumeSource: pdName! fsType partition:int32 readOnly:bool
AWSElasticBlockStoreVolumeSource: volumeID! fsType partition:int32 readOnly:bool
GitRepoVolumeSource: repository! revision directory
SecretVolumeSource: secretName items:[KeyToPath] defaultMode*:int32 optional*:bool
NFSVolumeSource: server! path! readOnly:bool
ISCSIVolumeSource: targetPortal! iqn! lun!:int32 iscsiInterface fsType readOnly:bool portals:[string]
    chapAuthDiscovery:bool chapAuthSession:bool secretRef*:LocalObjectReference initiatorName*
GlusterfsVolumeSource: endpoints! path! readOnly:bool
PersistentVolumeClaimVolumeSource: claimName! readOnly:bool
RBDVolumeSource: monitors!:[string] image! fsType pool user keyring secretRef*:LocalObjectReference readOnly:bool
FlexVolumeSource: driver! fsType secretRef*:LocalObjectReference readOnly:bool options:{string}
CinderVolumeSource: volumeID! fsType readOnly:bool secretRef*:LocalObjectReference
CephFSVolumeSource: monitors!:[string] path user secretFile secretRef*:LocalObjectReference readOnly:bool
FlockerVolumeSource: datasetName datasetUUID
DownwardAPIVolumeSource: items:[DownwardAPIVolumeFile] defaultMode*:int32
FCVolumeSource: targetWWNs:[string] lun*:int32 fsType readOnly:bool wwids:[string]
AzureFileVolumeSource: secretName! shareName! readOnly:bool
ConfigMapVolumeSource: name items:[KeyToPath] defaultMode*:int32 optional*:bool
VsphereVirtualDiskVolumeSource: volumePath! fsType storagePolicyName storagePolicyID
QuobyteVolumeSource: registry! volume! readOnly:bool user group tenant
AzureDiskVolumeSource: diskName! diskURI! cachingMode* fsType* readOnly*:bool kind*
PhotonPersistentDiskVolumeSource: pdID! fsType
ProjectedVolumeSource: sources!:[VolumeProjection] defaultMode*:int32
PortworxVolumeSource: volumeID! fsType readOnly:bool
ScaleIOVolumeSource: gateway! system! secretRef!:LocalObjectReference? sslEnabled:bool protectionDomain storagePool
    storageMode volumeName fsType readOnly:bool
StorageOSVolumeSource: volumeName volumeNamespace fsType readOnly:bool secretRef*:LocalObjectReference
CSIVolumeSource: driver! readOnly*:bool fsType* volumeAttributes:{string} nodePublishSecretRef*:LocalObjectReference
EphemeralVolumeSource: volumeClaimTemplate*:PersistentVolumeClaimTemplate
ImageVolumeSource: reference pullPolicy
ContainerPort: name hostPort:int32 containerPort!:int32 protocol hostIP
EnvFromSource: prefix configMapRef*:ConfigMapEnvSource secretRef*:SecretEnvSource
EnvVar: name! value valueFrom*:EnvVarSource
ContainerResizePolicy: resourceName! restartPolicy!
ContainerRestartRule: action exitCodes*:ContainerRestartRuleOnExitCodes
VolumeMount: name! readOnly:bool recursiveReadOnly* mountPath! subPath mountPropagation* subPathExpr
VolumeDevice: name! devicePath!
Probe: exec*:ExecAction httpGet*:HTTPGetAction tcpSocket*:TCPSocketAction grpc*:GRPCAction initialDelaySeconds:int32
    timeoutSeconds:int32 periodSeconds:int32 successThreshold:int32 failureThreshold:int32
    terminationGracePeriodSeconds*:int64
Lifecycle: postStart*:LifecycleHandler preStop*:LifecycleHandler stopSignal*
SecurityContext: capabilities*:Capabilities privileged*:bool seLinuxOptions*:SELinuxOptions
    windowsOptions*:WindowsSecurityContextOptions runAsUser*:int64 runAsGroup*:int64 runAsNonRoot*:bool
    readOnlyRootFilesystem*:bool allowPrivilegeEscalation*:bool procMount* seccompProfile*:SeccompProfile
    appArmorProfile*:AppArmorProfile
SELinuxOptions: user role type level
WindowsSecurityContextOptions: gmsaCredentialSpecName* gmsaCredentialSpec* runAsUserName* hostProcess*:bool
Sysctl: name! value!
SeccompProfile: type! localhostProfile*
AppArmorProfile: type! localhostProfile*
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution*:NodeSelector
    preferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm]
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm]
    preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm]
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm]
    preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm]
PodDNSConfigOption: name value*
LabelSelector: matchLabels:{string} matchExpressions:[LabelSelectorRequirement]
ResourceClaim: name! request
KeyToPath: key! path! mode*:int32
DownwardAPIVolumeFile: path! fieldRef*:ObjectFieldSelector resourceFieldRef*:ResourceFieldSelector mode*:int32
VolumeProjection: secret*:SecretProjection downwardAPI*:DownwardAPIProjection configMap*:ConfigMapProjection
    serviceAccountToken*:ServiceAccountTokenProjection clusterTrustBundle*:ClusterTrustBundleProjection
    podCertificate*:PodCertificateProjection
PersistentVolumeClaimTemplate: metadata!:ObjectMeta spec!:PersistentVolumeClaimSpec
ConfigMapEnvSource: name optional*:bool
SecretEnvSource: name optional*:bool
EnvVarSource: fieldRef*:ObjectFieldSelector resourceFieldRef*:ResourceFieldSelector
    configMapKeyRef*:ConfigMapKeySelector secretKeyRef*:SecretKeySelector fileKeyRef*:FileKeySelector
ContainerRestartRuleOnExitCodes: operator values:[int32]
ExecAction: command:[string]
HTTPGetAction: path port!:intOrString host scheme httpHeaders:[HTTPHeader]
TCPSocketAction: port!:intOrString host
GRPCAction: port!:int32 service!:string?
LifecycleHandler: exec*:ExecAction httpGet*:HTTPGetAction tcpSocket*:TCPSocketAction sleep*:SleepAction
Capabilities: add:[string] drop:[string]
NodeSelector: nodeSelectorTerms!:[NodeSelectorTerm]
PreferredSchedulingTerm: weight!:int32 preference!:NodeSelectorTerm
PodAffinityTerm: labelSelector*:LabelSelector namespaces:[string] topologyKey! namespaceSelector*:LabelSelector
    matchLabelKeys:[string] mismatchLabelKeys:[string]
WeightedPodAffinityTerm: weight!:int32 podAffinityTerm!:PodAffinityTerm
LabelSelectorRequirement: key! operator! values:[string]
ObjectFieldSelector: apiVersion fieldPath!
ResourceFieldSelector: containerName resource! divisor!:quantity
SecretProjection: name items:[KeyToPath] optional*:bool
DownwardAPIProjection: items:[DownwardAPIVolumeFile]
ConfigMapProjection: name items:[KeyToPath] optional*:bool
ServiceAccountTokenProjection: audience expirationSeconds*:int64 path!
ClusterTrustBundleProjection: name* signerName* labelSelector*:LabelSelector optional*:bool path!
PodCertificateProjection: signerName keyType maxExpirationSeconds*:int32 credentialBundlePath keyPath
    certificateChainPath
PersistentVolumeClaimSpec: accessModes:[string] selector*:LabelSelector resources!:VolumeResourceRequirements
    volumeName storageClassName* volumeMode* dataSource*:TypedLocalObjectReference
    dataSourceRef*:TypedObjectReference volumeAttributesClassName*
ConfigMapKeySelector: name key! optional*:bool
SecretKeySelector: name key! optional*:bool
FileKeySelector: volumeName! path! key! optional*:bool
HTTPHeader: name! value!
SleepAction: seconds!:int64
NodeSelectorTerm: matchExpressions:[NodeSelectorRequirement] matchFields:[NodeSelectorRequirement]
VolumeResourceRequirements: limits:{quantity} requests:{quantity}
TypedLocalObjectReference: apiGroup!:string? kind! name!
TypedObjectReference: apiGroup!:string? kind! name! namespace*
NodeSelectorRequirement: key! operator! values:[string]
";
