/**
 * A template as it is kept: a scenario that is not bound to one size of data or one kind of
 * database yet. `resolveScenario` binds it. Every scenario is such a document, so one form serves
 * for both.
 */
import type {
  FindMaxConfig,
  GuardrailConfig,
  OperationConfig,
  ScalingConfig,
  SloConfig,
  TargetConfig,
  ValueConfig,
  VerdictConfig,
  WorkloadConfig,
} from "../core/scenario.ts";

export type TargetKind = TargetConfig["kind"];

/**
 * A text, or one for each kind of target that needs its own; `default` is for the others, empty for
 * none. `{table}` is `table_name`.
 */
export type StatementText =
  | string
  | { readonly [Kind in TargetKind | "default"]?: string | undefined };

/** A number, or a text such as `100000 * :scale + 1`. */
export type Scaled = number | string;

export type ValueDocument = ScaledNumbers<ValueConfig>;
type ScaledNumbers<Value> = Value extends unknown
  ? { readonly [Field in keyof Value]: Value[Field] extends number ? Scaled : Value[Field] }
  : never;

export interface OperationDocument extends Omit<OperationConfig, "statements" | "parameters"> {
  readonly statements: readonly StatementText[];
  readonly parameters: Readonly<Record<string, ValueDocument>>;
}

export interface TemplateDocument {
  readonly template_id: string | null;
  readonly template_name: string;
  readonly description: string;
  readonly target: Omit<TargetConfig, "load_sql" | "reset_sql"> & {
    readonly load_sql: readonly StatementText[];
    readonly reset_sql: readonly StatementText[];
  };
  readonly workload: Omit<WorkloadConfig, "operations"> & {
    readonly operations: readonly OperationDocument[];
  };
  readonly scaling: ScalingConfig;
  readonly find_max: FindMaxConfig;
  readonly guardrails: GuardrailConfig;
  readonly slos: readonly SloConfig[];
  readonly verdict: VerdictConfig;
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
