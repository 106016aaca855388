/**
 * The suite through a cluster: every case by statements, the catalog, deployment and two worker
 * processes, which are started once. Cases run side by side where their scripts share no names.
 */
import type { Script } from "../../promql-suite.ts";
import { parseStreamScript, type ScriptItem } from "../parse-script.ts";
import type { StreamsSuiteOptions, SuiteTotals } from "../streams-suite.ts";
import { type Definition, definitionsIn, nameOf } from "./case-statements.ts";
import { ClusterFigures } from "./cluster-figures.ts";
import type { AddedSetting } from "./edit-statements.ts";
import { QueryWatch } from "./query-watch.ts";
import { type CaseTools, type ClusterCase, runCase } from "./run-case.ts";
import { type StreamCluster, startStreamCluster } from "./stream-cluster.ts";
import { StreamRequests } from "./stream-requests.ts";
import { takeTurns } from "./take-turns.ts";

const atOnceMax = 6;

interface Listed extends ClusterCase {
  readonly place: string;
  readonly line: number;
}

interface Broken {
  readonly place: string;
  readonly failure: string;
}

export async function runClusterSuite(
  scripts: readonly Script[],
  options: StreamsSuiteOptions,
): Promise<SuiteTotals> {
  const listed: Listed[] = [];
  const broken: Broken[] = [];
  for (const { name, text } of scripts) {
    try {
      listed.push(...casesIn(name, parseStreamScript(name, text).items));
    } catch (thrown) {
      broken.push({ place: `${name}:0`, failure: `the script stopped: ${String(thrown)}` });
    }
  }
  const picked = listed.filter(({ line }) => options.line === undefined || options.line === line);
  const report = new CaseReport(options);
  for (const { place, failure } of broken) report.add(place, failure);
  const cluster = await startStreamCluster(options.suiteDir);
  try {
    await runAll(picked, cluster, options, report);
  } finally {
    await cluster.stop();
  }
  return { passed: report.passed, total: report.total };
}

async function runAll(
  cases: readonly Listed[],
  cluster: StreamCluster,
  { suiteDir, print }: StreamsSuiteOptions,
  report: CaseReport,
): Promise<void> {
  const { url, streamDir } = cluster;
  const figures = new ClusterFigures();
  const requests = new StreamRequests(url);
  const watch = await QueryWatch.open(url);
  const ended = figures.ended.bind(figures);
  const tools: CaseTools = { requests, watch, ended };
  const jobs = cases.map((each, index) => ({
    names: namesOf(each),
    run: async () => {
      const places = { suiteDir, streamDir, name: `case-${index}` };
      report.add(each.place, await runCase(each, places, tools));
    },
  }));
  await takeTurns(jobs, atOnceMax);
  watch.close();
  print(figures.line((worker) => cluster.log(worker)));
  const left = await leftBehind(requests);
  if (left !== "") report.add("the cluster", `left behind: ${left}`);
}

function casesIn(name: string, items: readonly ScriptItem[]): readonly Listed[] {
  let configurations: readonly Configuration[] = [{ name: "", settings: [] }];
  const definitions: Definition[] = [];
  return items.flatMap((item): readonly Listed[] => {
    if (item.kind === "configuration") {
      configurations = configurations.flatMap((each) =>
        item.values.map((value) => configured(each, item.key, value)),
      );
      return [];
    }
    if (item.kind === "statement") {
      for (const each of definitionsIn(item.text, item.attached)) replace(definitions, each);
      return [];
    }
    return configurations.map(({ name: shown, settings }) => ({
      ...{ definitions: [...definitions], item, settings, line: item.line },
      place: `${name}:${item.line}${shown === "" ? "" : ` [${shown}]`}`,
    }));
  });
}

/** A script may declare a sink twice; the later one counts. */
function replace(definitions: Definition[], next: Definition): void {
  const name = nameOf(next);
  const isSink = next.statement.kind === "createSink";
  const at = isSink ? definitions.findIndex((each) => nameOf(each) === name) : -1;
  if (at !== -1) definitions.splice(at, 1);
  definitions.push(next);
}

interface Configuration {
  readonly name: string;
  readonly settings: readonly AddedSetting[];
}

function configured(base: Configuration, key: string, value: string): Configuration {
  const last = key.split(".").at(-1) ?? key;
  const name = [base.name, `${last}=${value}`].filter((part) => part !== "").join(" ");
  if (last !== "operator_buffer_size") return { name, settings: base.settings };
  const size: AddedSetting = { section: "QUERY", key: "BUFFER_SIZE", value: Number(value) };
  return {
    name,
    settings: [...base.settings.filter(({ key: other }) => other !== size.key), size],
  };
}

function namesOf({ definitions }: ClusterCase): ReadonlySet<string> {
  return new Set(definitions.flatMap((each) => nameOf(each) ?? []));
}

/** Every case drops what it made. */
async function leftBehind(requests: StreamRequests): Promise<string> {
  const counts: string[] = [];
  for (const path of ["queries", "sinks", "views", "physical-sources", "sources"]) {
    const count = await requests.count(path);
    if (count > 0) counts.push(`${count} ${path}`);
  }
  const slots = await requests.slotsUsed();
  if (slots > 0) counts.push(`${slots} slots in use`);
  return counts.join(", ");
}

class CaseReport {
  readonly #options: StreamsSuiteOptions;
  passed = 0;
  total = 0;

  constructor(options: StreamsSuiteOptions) {
    this.#options = options;
  }

  add(place: string, failure: string | undefined): void {
    const { failuresMax, verbose, print } = this.#options;
    this.total += 1;
    if (failure === undefined) {
      this.passed += 1;
      if (verbose) print(`passed cluster, ${place}`);
    } else if (this.total - this.passed <= failuresMax) {
      print(`FAILED cluster, ${place}: ${failure.slice(0, 600)}`);
    }
  }
}
