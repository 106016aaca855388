/** Addresses of the load test pages. */
export function templateHref(templateId: string): string {
  return `/load/templates/${encodeURIComponent(templateId)}`;
}

export function runHref(runId: string): string {
  return `/load/runs/${encodeURIComponent(runId)}`;
}
