/**
 * q5 over two processes with a file each, beside one process that reads both files: what the
 * exchange between processes costs. All three are processes of their own that run nothing else, so
 * that their heaps are alike. The rows of both are compared.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { Peer, startProcessLink } from "../../src/ground/threads/index.ts";
import { startTwoProcesses } from "../../tools/conformance/streams/two-processes.ts";
import type { Report } from "../report.ts";
import { countOf, writeNexmarkFiles } from "./nexmark-events.ts";
import { nexmarkQueries, streamTables } from "./nexmark-queries.ts";
import type { OneProcess } from "./one-process.ts";
import { planOf } from "./stream-run.ts";

const cpuRatioGoal = 1.25;
const rounds = 4;

export async function benchTwoProcesses(
  dir: string,
  events: number,
  report: Report,
): Promise<void> {
  const halves = halvesOf(writeNexmarkFiles(dir, events).bid);
  const query = nexmarkQueries.find(({ name }) => name === "q5");
  if (query === undefined) throw new Error("there is no q5");
  const [one, two] = [join(dir, "one.csv"), join(dir, "two.csv")];
  const statements = (sink: string): string =>
    `${streamTables({ person: "", auction: "", bid: halves[0] })}
CREATE PHYSICAL SOURCE FOR bid TYPE File SET('${halves[1]}' AS "SOURCE".FILE_PATH, 'CSV' AS PARSER.TYPE);
${query.stream} INTO ${sink};`;
  const file = (path: string): string =>
    `File('${path}' AS "SINK".FILE_PATH, 'CSV' AS "SINK".OUTPUT_FORMAT)`;
  const processes = await startTwoProcesses();
  const single = startOneProcess();
  try {
    await single.ask("run", statements(file(one)));
    await processes.run(planOf(statements(file(two))), dir);
    report.check("q5_two_processes_rows", difference(one, two));
    const plan = planOf(statements("Void()"));
    const [alone, together]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      alone.push(await single.ask("run", statements("Void()")));
      const before = await processes.cpuMs();
      await processes.run(plan, dir);
      together.push((await processes.cpuMs()) - before);
    }
    report.figure(
      "q5_two_processes",
      { ratio: { value: Math.min(...together) / Math.min(...alone), atMost: cpuRatioGoal } },
      {
        events: countOf("bid", events),
        cpu_ms: together,
        cpu_ms_of_one: alone,
        rows_crossed: processes.totals.rowsCrossed / (rounds + 1),
      },
    );
  } finally {
    await Promise.all([processes.stop(), single.stop()]);
    for (const path of [one, two]) rmSync(path, { force: true });
  }
}

function startOneProcess(): Peer<OneProcess> {
  const module = fileURLToPath(new URL("./one-process.ts", import.meta.url));
  const command = [process.execPath, "--disable-warning=ExperimentalWarning", module] as const;
  const { PATH = "", HOME = "" } = process.env;
  return new Peer<OneProcess>(startProcessLink(command, { PATH, HOME }), {
    clock: realClock,
    open: {},
    lost: (cause) => new OperatingError("query_failed", "never", cause.message, { cause }),
  });
}

/** Two files with every other line of the file, each in the order of time. */
function halvesOf(path: string): readonly [string, string] {
  const halves = [`${path}.even`, `${path}.odd`] as const;
  if (halves.every((half) => existsSync(half))) return halves;
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  for (const [rest, half] of halves.entries()) {
    const kept = lines.filter((_, line) => line % 2 === rest);
    writeFileSync(half, `${kept.join("\n")}\n`);
  }
  return halves;
}

function difference(one: string, two: string): string | undefined {
  const [expected, found] = [one, two].map((path) =>
    readFileSync(path, "utf8").split("\n").sort().join("\n"),
  );
  return expected === found ? undefined : "the rows of two processes differ from those of one";
}
