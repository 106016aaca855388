import type { LogLine } from "../../../api/gen/types.ts";

export type LogFilter = "all" | "trouble" | "errors";

const errorLevels = ["ERROR", "CRITICAL"];

export function filterLogs(lines: readonly LogLine[], filter: LogFilter): readonly LogLine[] {
  if (filter === "all") return lines;
  const levels = filter === "errors" ? errorLevels : ["WARNING", ...errorLevels];
  return lines.filter(({ level }) => levels.includes(level.toUpperCase()));
}
