/** The list of templates, and its texts. Pure. */
import type { ListedTemplate, LoadMode } from "../../../api/gen/types.ts";
import { formatCount, formatUptime, plural } from "../../../format.ts";

export const modeWords: Readonly<Record<LoadMode, string>> = {
  CONCURRENCY: "Connections",
  QPS: "Rate",
  FIND_MAX_CONCURRENCY: "Find the maximum",
};

/** Whether the template contains every word of the text. */
export function matchesTemplate(template: ListedTemplate, text: string): boolean {
  const { template_name, description, target_kind, load_mode, operations } = template;
  const own = [template_name, description, target_kind, load_mode, modeWords[load_mode]];
  const all = [...own, ...operations].join("\n").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

/** `8 connections for 60 s` */
export function loadText(template: ListedTemplate): string {
  const { load_mode: mode, target_qps: qps, concurrent_connections: connections } = template;
  const duration = formatUptime(template.duration_seconds * 1_000).replace(/ 0 (s|min)$/, "");
  switch (mode) {
    case "CONCURRENCY":
      return `${plural(connections, "connection")} for ${duration}`;
    case "QPS":
      return `${formatCount(qps)} a second for ${duration}`;
    case "FIND_MAX_CONCURRENCY":
      return "the most connections that help";
  }
}
