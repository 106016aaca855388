/** What every command needs: a client of the API, options, output, exit codes. */
export { type ApiClient, brokenAnswer } from "./client/api-client.ts";
export { linesOf } from "./client/lines.ts";
export { sseEvents } from "./client/sse-events.ts";
export {
  client,
  connected,
  dataDir,
  example,
  lake,
  metricsDir,
  withStore,
} from "./command-parts.ts";
export { type CommandContext, commandContext } from "./context.ts";
export { exitCodes } from "./exit-codes.ts";
export { exitCodeOf, Failure, failureOf } from "./failure.ts";
export { collect, parseSeconds } from "./option-values.ts";
export { formatBytes, formatCount, formatDuration } from "./output/format.ts";
export { type Column, TableWriter } from "./output/table.ts";
export { formatFields, type Paint, processTerminal, type Terminal } from "./output/terminal.ts";
export { pad, printable, truncate } from "./output/terminal-text.ts";
export { formatFailure } from "./report-failure.ts";
export type { RunAction } from "./run-action.ts";
