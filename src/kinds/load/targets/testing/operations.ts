import type { Operation, ParameterType, ParameterValue, QueryKind } from "../../core/operation.ts";
import type { OperationFailure, PreparedOperation } from "../../core/target.ts";

/** One statement with `:name` for parameters. */
export function operationOf(
  kind: QueryKind,
  sql: string,
  types: Readonly<Record<string, ParameterType>>,
): Operation {
  const names = Object.keys(types);
  const parts = sql.split(/(?<!:):([a-z]+)/);
  return {
    name: sql,
    kind,
    parameters: Object.entries(types).map(([name, type]) => ({ name, type })),
    statements: [
      {
        texts: parts.filter((_, at) => at % 2 === 0),
        parameters: parts.filter((_, at) => at % 2 === 1).map((name) => names.indexOf(name)),
      },
    ],
    isTransaction: false,
  };
}

export interface Outcome {
  readonly failure: OperationFailure | undefined;
  readonly rowCount: number;
}

export function execute(
  prepared: PreparedOperation,
  values: readonly ParameterValue[],
): Promise<Outcome> {
  return new Promise((resolve) => {
    prepared.execute(values, (failure, rowCount) => resolve({ failure, rowCount }));
  });
}
