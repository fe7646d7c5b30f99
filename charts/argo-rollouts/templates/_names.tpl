{{/* The application, as labels and selectors name it. */}}
{{- define "tidegate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The beginning of all object names. A release that carries the application's name needs no second one. */}}
{{- define "tidegate.fullname" -}}
{{- $name := include "tidegate.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The full name with an ending, within the 63 characters that Services and labels allow. A list: root, ending. */}}
{{- define "tidegate.fullname.with" -}}
{{- $ending := index . 1 -}}
{{- $room := int (sub 62 (len $ending)) -}}
{{- printf "%s-%s" (include "tidegate.fullname" (index . 0) | trunc $room | trimSuffix "-") $ending -}}
{{- end -}}

{{- define "tidegate.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "tidegate.controller.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tidegate.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "tidegate.dashboard.account" -}}
{{- if .Values.dashboard.serviceAccount.create -}}
{{- default (include "tidegate.fullname.with" (list . "dashboard")) .Values.dashboard.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.dashboard.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Where an image is pulled from. A list: root, the image's values. */}}
{{- define "tidegate.image" -}}
{{- $image := index . 1 -}}
{{- with $image.registry }}{{ . }}/{{ end -}}
{{- $image.repository }}:{{ default (index . 0).Chart.AppVersion $image.tag -}}
{{- end -}}
