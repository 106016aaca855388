/** What a load test sends: operations, each one or more statements with named parameters. */

/** The specification's kinds, and `CUSTOM` for a user's own SQL. */
export const queryKinds = [
  "POINT_LOOKUP",
  "RANGE_SCAN",
  "INSERT",
  "UPDATE",
  "DELETE",
  "CUSTOM",
] as const;

export type QueryKind = (typeof queryKinds)[number];

export function isRead(kind: QueryKind): boolean {
  return kind === "POINT_LOOKUP" || kind === "RANGE_SCAN";
}

export type ParameterType = "bigint" | "double" | "text" | "boolean" | "timestamp";

/**
 * One for each parameter of an operation, in its order. A bigint that a double holds exactly is a
 * number; a timestamp is milliseconds since 1970, or text that the target understands.
 */
export type ParameterValue = number | bigint | string | boolean | null;

export interface OperationParameter {
  readonly name: string;
  readonly type: ParameterType;
}

export interface OperationStatement {
  /** The text between the parameters: one text more than parameters. */
  readonly texts: readonly string[];
  /** Indices among the operation's parameters; one may occur several times. */
  readonly parameters: readonly number[];
}

/**
 * The unit that is measured. Its statements run in order on one connection, each after the answer
 * to the one before. With `isTransaction` they run between BEGIN and COMMIT, and are rolled back
 * when one fails. A pipeline (`depth` above 1) may send the statements of a transaction at once.
 */
export interface Operation {
  /** Unique in its workload; names the operation's figures. */
  readonly name: string;
  readonly kind: QueryKind;
  readonly parameters: readonly OperationParameter[];
  readonly statements: readonly OperationStatement[];
  readonly isTransaction: boolean;
  /** For HTTP, the statuses that count as success; 200 to 299 by default. */
  readonly expectedStatuses?: ReadonlySet<number>;
}
