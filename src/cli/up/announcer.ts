/** The output of `capstan up`: short lines for people, or JSON lines for programs. */

import { formatCount, formatDuration } from "../../ground/command/output/format.ts";
import type { Terminal } from "../../ground/command/output/terminal.ts";
import { printable } from "../../ground/command/output/terminal-text.ts";
import { formatShortLine, type LogRecord, parseRecord } from "../../ground/observe/index.ts";

export type UpEvent =
  | { readonly event: "setup"; readonly from: number; readonly to: number }
  | { readonly event: "note"; readonly text: string }
  | {
      readonly event: "up";
      readonly url: string;
      readonly workers: number;
      readonly took_ms: number;
      /** How to call the other commands from here. */
      readonly command: string;
    }
  | {
      readonly event: "died";
      readonly process: string;
      readonly how: string;
      readonly restart_ms: number;
    }
  | { readonly event: "back"; readonly process: string }
  | { readonly event: "dropped"; readonly process: string }
  | { readonly event: "stopping"; readonly reason: string }
  | { readonly event: "killed"; readonly process: string }
  | { readonly event: "stopped" };

const warn = 40;
const error = 50;

export class Announcer {
  readonly #terminal: Terminal;
  readonly #json: boolean;
  /** A child's line below this level goes only to its file. */
  #levelMin = error;
  readonly #settledLevel: number;

  constructor(terminal: Terminal, options: { readonly json: boolean; readonly verbose: boolean }) {
    this.#terminal = terminal;
    this.#json = options.json;
    this.#settledLevel = options.verbose ? 0 : warn;
    if (options.verbose) this.#levelMin = 0;
  }

  say(event: UpEvent): void {
    if (this.#json) {
      this.#terminal.out(`${JSON.stringify(event)}\n`);
      return;
    }
    const text = describe(event, this.#terminal);
    if (text !== undefined) this.#terminal.out(`${text}\n`);
  }

  /** During start and stop children complain about each other, so only errors are shown. */
  settle(settled: boolean): void {
    this.#levelMin = settled || this.#settledLevel === 0 ? this.#settledLevel : error;
  }

  childLine(process: string, line: string): void {
    if (this.#json) return;
    const record: LogRecord | undefined = parseRecord(line);
    if (record === undefined) {
      this.#terminal.err(`${process}: ${printable(line)}\n`);
      return;
    }
    if (record.level < this.#levelMin) return;
    const coloured = this.#terminal.paintError.red("x") !== "x";
    this.#terminal.err(`${formatShortLine(record, coloured)}\n`);
  }
}

function describe(event: UpEvent, { paint }: Terminal): string | undefined {
  switch (event.event) {
    case "setup":
      return event.from === event.to ? undefined : `The store is set up (schema ${event.to}).`;
    case "note":
      return event.text;
    case "up":
      return upText(event, paint.bold, paint.dim);
    case "died": {
      const wait = formatDuration(event.restart_ms);
      return paint.yellow(
        `${event.process} ended unexpectedly (${event.how}); starting it again in ${wait}.`,
      );
    }
    case "back":
      return paint.green(`${event.process} is back.`);
    case "dropped":
      return `${event.process} was dropped from the cluster; it is not started again.`;
    case "stopping":
      return "Stopping: work under way is finished first. Ctrl-C again ends at once.";
    case "killed":
      return paint.yellow(`${event.process} did not end in time and was killed.`);
    case "stopped":
      return "Stopped.";
  }
}

function upText(
  event: Extract<UpEvent, { event: "up" }>,
  bold: (text: string) => string,
  dim: (text: string) => string,
): string {
  const workers = formatCount(event.workers, "worker");
  return [
    `${bold(`Capstan is up: ${event.url}`)} ${dim(`(a coordinator and ${workers}, in ${formatDuration(event.took_ms)})`)}`,
    "",
    `See what it does: ${event.url}/explore?q=rate(capstan_process_cpu_seconds_total%5B1m%5D)&range=15m`,
    "",
    "Try, in another terminal:",
    `  ${event.command} promql up`,
    `  ${event.command} sql -c "SELECT 42 AS answer"`,
    `  ${event.command} workers`,
    `  ${event.command} watch workers`,
    "",
    dim("Ctrl-C stops everything."),
  ].join("\n");
}
