/** What the catalog asks its planning thread. */
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { withoutPaths } from "../../../../ground/kernel/without-paths.ts";
import type { ErrorRules } from "../../../../ground/threads/index.ts";
import type { DialectName } from "../../language/core/index.ts";
import type { CatalogSnapshot, Planned, PlannerInput } from "../core/planner.ts";

/** An error in the planning of a statement ends that request and no other. */
export const plannerErrors: ErrorRules = {
  translate: (thrown) =>
    new OperatingError(
      "OptimizerError",
      "never",
      `the statement could not be planned: ${withoutPaths(messageOf(thrown))}`,
    ),
};

export interface PlanningOptions {
  /** Where statements say nothing else. */
  readonly dialect: DialectName;
}

/** Rows of one version of the catalog. */
export type Definitions = Pick<
  CatalogSnapshot,
  "version" | "logicalSources" | "physicalSources" | "sinks"
>;

export interface PlanningThread {
  readonly requests: { plan(request: PlanRequest): readonly Planned[] };
  readonly notes: Record<never, never>;
}

export interface PlanRequest extends Pick<CatalogSnapshot, "tables" | "topology" | "held"> {
  readonly statements: readonly PlannerInput[];
  /** `undefined`: those of the request before. */
  readonly definitions: Definitions | undefined;
}
