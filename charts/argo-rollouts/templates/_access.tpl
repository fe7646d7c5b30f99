{{/* The rules of the controller: the files of the generator, cut to the routers that the values ask for. */}}
{{- define "tidegate.controller.rules" -}}
{{- $known := .Files.Get "files/rules/controller.yaml" | fromYaml -}}
{{- $rules := $known.always -}}
{{- if .Values.providerRBAC.enabled -}}
{{- $providers := .Values.providerRBAC.providers -}}
{{- range $name := list "istio" "smi" "ambassador" "awsLoadBalancerController" "awsAppMesh" "traefik" "apisix" "contour" "glooPlatform" "gatewayAPI" -}}
{{- if get $providers $name }}{{ $rules = concat $rules (get $known.providers $name) }}{{ end -}}
{{- end -}}
{{- with .Values.providerRBAC.additionalRules }}{{ $rules = concat $rules . }}{{ end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* The rules of the dashboard; without buttons it needs to change nothing. */}}
{{- define "tidegate.dashboard.rules" -}}
{{- $known := .Files.Get "files/rules/dashboard.yaml" | fromYaml -}}
{{- toYaml (ternary $known.readonly $known.full .Values.dashboard.readonly) -}}
{{- end -}}
