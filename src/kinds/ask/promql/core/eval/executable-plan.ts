/**
 * A plan with its evaluation tree. Only the leaves are sent to workers; the tree stays in this
 * thread.
 */
import type { ValueType } from "../ast.ts";
import type { EngineOptions, QueryParams, QueryPlan } from "../engine-types.ts";
import type { BaseExpr } from "../leaf.ts";
import type { Annotation, Grid } from "../model.ts";
import type { ExecNode } from "./exec-node.ts";

/** What EXPLAIN shows of a leaf. */
export interface LeafExplanation {
  readonly text: string;
  readonly why: string;
}

export interface PlanParts {
  readonly params: QueryParams;
  readonly options: EngineOptions;
  readonly resultType: ValueType;
  readonly grid: Grid;
  readonly leaves: readonly BaseExpr[];
  readonly divisible: boolean;
  readonly explanations: readonly LeafExplanation[];
  readonly root: ExecNode;
}

export class ExecutablePlan implements QueryPlan {
  readonly params: QueryParams;
  readonly options: EngineOptions;
  readonly resultType: ValueType;
  /** The steps of its result. */
  readonly grid: Grid;
  readonly leaves: readonly BaseExpr[];
  readonly divisible: boolean;
  readonly explanations: readonly LeafExplanation[];
  readonly annotations: readonly Annotation[] = [];
  readonly root: ExecNode;

  constructor(parts: PlanParts) {
    this.params = parts.params;
    this.options = parts.options;
    this.resultType = parts.resultType;
    this.grid = parts.grid;
    this.leaves = parts.leaves;
    this.divisible = parts.divisible;
    this.explanations = parts.explanations;
    this.root = parts.root;
  }
}
