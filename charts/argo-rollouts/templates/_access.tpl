{{/* The rules of the controller: the files of the generator, cut to the routers that the values ask for. */}}
{{- define "tidegate.controller.rules" -}}
{{- $known := .Files.Get "files/rules/controller.yaml" | fromYaml -}}
{{- $rules := $known.always -}}
{{- if .Values.providerRBAC.enabled -}}
{{- $providers := default dict .Values.providerRBAC.providers -}}
{{- range $known.providers -}}
{{- if get $providers .name }}{{ $rules = concat $rules .rules }}{{ end -}}
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
