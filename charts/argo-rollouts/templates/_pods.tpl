{{/* What controller and dashboard pods have in common. A list: root, the values of the one. */}}
{{- define "tidegate.pod" -}}
{{- $root := index . 0 -}}
{{- $own := index . 1 -}}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default $root.Values.podSecurityContext $own.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.global.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* `minAvailable` or `maxUnavailable` of a budget; 0 is a choice, nothing at all lets one pod go at a time. */}}
{{- define "tidegate.budget" -}}
{{- if not (or (kindIs "invalid" .maxUnavailable) (eq (toString .maxUnavailable) "")) -}}
maxUnavailable: {{ .maxUnavailable }}
{{- else if not (or (kindIs "invalid" .minAvailable) (eq (toString .minAvailable) "")) -}}
minAvailable: {{ .minAvailable }}
{{- else -}}
maxUnavailable: 1
{{- end -}}
{{- end -}}
