{{/* What chooses pods. Never to be changed: the selector of a Deployment cannot be. A list: root, component. */}}
{{- define "tidegate.selector" -}}
app.kubernetes.io/name: {{ include "tidegate.name" (index . 0) }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The labels of every object. A list: root, component. */}}
{{- define "tidegate.labels" -}}
{{- $root := index . 0 -}}
{{ include "tidegate.selector" . }}
app.kubernetes.io/part-of: argo-rollouts
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* `annotations:` of the first non-empty merge, or nothing. Later maps of the list win. */}}
{{- define "tidegate.annotations" -}}
{{- $all := dict -}}
{{- range . }}{{ with . }}{{ $all = mergeOverwrite $all (deepCopy .) }}{{ end }}{{ end -}}
{{- with $all -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}
