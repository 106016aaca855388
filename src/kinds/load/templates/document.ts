/**
 * A template as it is kept: a scenario that is not bound to one size of data or one kind of
 * database yet. `resolveScenario` binds it. Every scenario is such a document, so one form serves
 * for both.
 */
import type { WrittenScenario } from "../core/scenario-codec.ts";

type Workload = WrittenScenario["workload"];
type Target = WrittenScenario["target"];
export type WrittenOperation = Workload["operations"][number];
export type WrittenValue = WrittenOperation["parameters"][string];
export type TargetKind = Target["kind"];

/**
 * A text, or one for each kind of target that needs its own; `default` is for the others, empty for
 * none. `{table}` is `table_name`.
 */
export type StatementText =
  | string
  | { readonly [Kind in TargetKind | "default"]?: string | undefined };

/** A number, or a text such as `100000 * :scale + 1`. */
export type Scaled = number | string;

export type ValueDocument = ScaledNumbers<WrittenValue>;
type ScaledNumbers<Value> = Value extends unknown
  ? { readonly [Field in keyof Value]: Value[Field] extends number ? Scaled : Value[Field] }
  : never;

export interface OperationDocument extends Omit<WrittenOperation, "statements" | "parameters"> {
  readonly statements: readonly StatementText[];
  readonly parameters: Readonly<Record<string, ValueDocument>>;
}

export interface TemplateDocument extends Omit<WrittenScenario, "target" | "workload"> {
  readonly description: string;
  readonly target: Omit<Target, "load_sql" | "reset_sql"> & {
    readonly load_sql: readonly StatementText[];
    readonly reset_sql: readonly StatementText[];
  };
  readonly workload: Omit<Workload, "operations"> & {
    readonly operations: readonly OperationDocument[];
  };
  /** Values that parameters are chosen from; small ones. The store keeps them apart, in chunks. */
  readonly pools: Readonly<Record<string, readonly PoolValue[]>>;
}

export type PoolValue = string | number | boolean | null;

/** What is wrong with one place of a template. Never quotes a value: it may be a secret. */
export interface TemplateProblem {
  /** `workload.operations[0].weight`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}
