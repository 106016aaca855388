/** A scenario's operations, made ready for one worker. Rules: CW1 to CW3. */

import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import { isoTime } from "../../../ground/kernel/iso-time.ts";
import { createPrng, type Prng } from "../../../ground/kernel/prng.ts";
import { createKeyChooser, createZipfian } from "./key-chooser.ts";
import type { Operation, OperationParameter, ParameterType, ParameterValue } from "./operation.ts";
import { type NamedStatement, parseNamedStatement } from "./parse-statement.ts";
import type { OperationConfig, ValueConfig, WorkloadConfig } from "./scenario.ts";
import type { Workload, WorkloadOperation } from "./workload.ts";

export interface WorkloadWorker {
  readonly groupId: number;
  readonly pools: ReadonlyMap<string, readonly ParameterValue[]>;
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
}

/** The number of keys that one group may insert. */
export const insertRange = 1_000_000_000;

export function compileWorkload(config: WorkloadConfig, worker: WorkloadWorker): Workload {
  const prng = createPrng(`${config.seed}/${worker.groupId}`);
  const operations = config.operations
    .filter(({ weight }) => weight > 0)
    .map((each) => compileOperation(each, worker, prng.fork(each.name)));
  const chances = prng.fork("operations");
  const total = operations.reduce((sum, { weight }) => sum + weight, 0);
  assert(total > 0, "a workload has an operation");
  const ends: number[] = [];
  for (const { weight } of operations) ends.push((ends.at(-1) ?? 0) + weight / total);
  return {
    operations,
    choose: () => {
      const chance = chances.next();
      const found = ends.findIndex((end) => chance < end);
      return found === -1 ? operations.length - 1 : found;
    },
  };
}

/** Compiles the operation alone, for checks. */
export function operationOf(config: OperationConfig): Operation {
  const parsed = config.statements.map(parseNamedStatement);
  const names = namesIn(config, parsed);
  inOrder(config, names); // Throws for parameters that refer to each other in a circle.
  const parameters = names.map(
    (name): OperationParameter => ({ name, type: typeOf(config, name) }),
  );
  return {
    name: config.name,
    kind: config.kind,
    parameters,
    statements: parsed.map(({ texts, names: used }) => ({
      texts,
      parameters: used.map((name) => names.indexOf(name)),
    })),
    isTransaction: config.transaction,
    ...(config.expectStatus && { expectedStatuses: new Set(config.expectStatus) }),
  };
}

function compileOperation(
  config: OperationConfig,
  worker: WorkloadWorker,
  prng: Prng,
): WorkloadOperation {
  const operation = operationOf(config);
  const names = operation.parameters.map(({ name }) => name);
  const values: ParameterValue[] = new Array(names.length).fill(null);
  const makers = inOrder(config, names).map((name) => ({
    at: names.indexOf(name),
    next: makerOf(parameterOf(config, name), {
      worker,
      prng: prng.fork(name),
      read: (other) => values[names.indexOf(other)] ?? null,
    }),
  }));
  return {
    operation,
    weight: config.weight,
    fill: (into) => {
      for (const { at, next } of makers) values[at] = next();
      for (let at = 0; at < names.length; at += 1) into[at] = values[at] ?? null;
    },
  };
}

/** CW3 */
function namesIn(
  config: OperationConfig,
  statements: readonly NamedStatement[],
): readonly string[] {
  const used = new Set(statements.flatMap(({ names }) => names));
  const given = Object.keys(config.parameters);
  const unknown = [...used].filter((name) => !given.includes(name));
  const relatives = Object.values(config.parameters).flatMap((value) =>
    value.kind === "relative" ? [value.to] : [],
  );
  const idle = given.filter((name) => !used.has(name) && !relatives.includes(name));
  if (unknown.length > 0) {
    throw badParameter(config, `:${unknown.join(", :")} has no entry in parameters`);
  }
  if (idle.length > 0) throw badParameter(config, `${idle.join(", ")} is in no statement`);
  return given;
}

/** Parameter names, those that others refer to first. */
function inOrder(config: OperationConfig, names: readonly string[]): readonly string[] {
  const done: string[] = [];
  const visit = (name: string, path: readonly string[]): void => {
    if (done.includes(name)) return;
    if (path.includes(name))
      throw badParameter(config, `${[...path, name].join(" → ")} is a circle`);
    const value = parameterOf(config, name);
    if (value.kind === "relative") visit(value.to, [...path, name]);
    done.push(name);
  };
  for (const name of names) visit(name, []);
  return done;
}

function parameterOf(config: OperationConfig, name: string): ValueConfig {
  const value = config.parameters[name];
  if (value === undefined) throw badParameter(config, `there is no parameter ${name}`);
  return value;
}

function typeOf(config: OperationConfig, name: string): ParameterType {
  const value = parameterOf(config, name);
  switch (value.kind) {
    case "key":
    case "insert_key":
    case "integer":
      return "bigint";
    case "double":
      return "double";
    case "now":
      return "timestamp";
    case "relative":
      return typeOf(config, value.to);
    case "choice":
      return typeOfValues(value.values);
    case "text":
    case "pool":
      return "text";
  }
}

function typeOfValues(values: readonly unknown[]): ParameterType {
  if (values.every((value) => value === null || typeof value === "boolean")) return "boolean";
  if (values.every((value) => value === null || Number.isInteger(value))) return "bigint";
  return values.every((value) => value === null || typeof value === "number") ? "double" : "text";
}

interface MakerContext {
  readonly worker: WorkloadWorker;
  readonly prng: Prng;
  readonly read: (name: string) => ParameterValue;
}

function makerOf(value: ValueConfig, { worker, prng, read }: MakerContext): () => ParameterValue {
  switch (value.kind) {
    case "key":
      return createKeyChooser(value, prng);
    case "insert_key": {
      let next = value.start + worker.groupId * insertRange - 1; // CW2
      return () => {
        next += 1;
        return next;
      };
    }
    case "integer": {
      const count = value.max - value.min + 1;
      return () => value.min + Math.floor(prng.next() * count);
    }
    case "double":
      return () => value.min + prng.next() * (value.max - value.min);
    case "text": {
      const more = value.lengthMax - value.lengthMin + 1;
      return () => letters(prng, value.lengthMin + prng.below(more));
    }
    case "choice":
      return () => value.values[prng.below(value.values.length)] ?? null;
    case "pool": {
      const pool = worker.pools.get(value.pool) ?? [];
      if (pool.length === 0) {
        throw new OperatingError("bad_request", "never", `the pool ${value.pool} has no values`);
      }
      const rank =
        value.distribution === "zipfian"
          ? createZipfian(pool.length, 0.99, prng)
          : () => prng.below(pool.length);
      return () => pool[rank()] ?? null;
    }
    case "now":
      return () => isoTime(worker.wallMs());
    case "relative":
      return () => {
        const other = read(value.to);
        return typeof other === "number" ? other + value.plus : other;
      };
  }
}

function letters(prng: Prng, length: number): string {
  let text = "";
  for (let at = 0; at < length; at += 1) text += String.fromCharCode(97 + prng.below(26));
  return text;
}

function badParameter({ name }: OperationConfig, message: string): OperatingError {
  return new OperatingError("bad_request", "never", `operation ${name}: ${message}`);
}
