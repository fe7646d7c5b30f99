{{/* The flags of the controller, as a list. */}}
{{- define "tidegate.controller.args" -}}
{{- $controller := .Values.controller -}}
- --healthzPort={{ $controller.containerPorts.healthz }}
- --metricsport={{ $controller.containerPorts.metrics }}
- --loglevel={{ $controller.logging.level }}
- --logformat={{ $controller.logging.format }}
- --kloglevel={{ $controller.logging.kloglevel }}
{{- if not .Values.clusterInstall }}
- --namespaced
{{- end }}
{{- if gt (int $controller.replicas) 1 }}
- --leader-elect
{{- end }}
{{- if $controller.awsVerifyTargetGroup }}
- --aws-verify-target-group
{{- end }}
{{- with $controller.awsTargetGroupBindingAPIVersion }}
- --aws-target-group-binding-api-version={{ . }}
{{- end }}
{{- with $controller.albTagKeyResourceID }}
- --alb-tag-key-resource-id={{ . }}
{{- end }}
{{- if $controller.selfServiceNotification }}
- --self-service-notification-enabled
{{- end }}
{{- with $controller.pprofAddress }}
- --enable-pprof-address={{ . }}
{{- end }}
{{- with $controller.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}
