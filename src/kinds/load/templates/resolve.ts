/** Binds a template to one scale and one kind of target. */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { parseNamedStatement } from "../core/parse-statement.ts";
import type { Scenario } from "../core/scenario.ts";
import { readScenario } from "../core/scenario-codec.ts";
import type {
  OperationDocument,
  StatementText,
  TargetKind,
  TemplateDocument,
  ValueDocument,
  WrittenOperation,
  WrittenValue,
} from "./document.ts";
import { scaledNumber } from "./scaled.ts";

/**
 * Throws `bad_request` where a statement has no text for the kind of target; `checkTemplate` has
 * said so before.
 */
export function resolveScenario(document: TemplateDocument): Scenario {
  const { target, workload } = document;
  const { pools: _, description: __, ...rest } = document;
  return readScenario({
    ...rest,
    target: {
      ...target,
      load_sql: dataStatements(target.load_sql, target),
      reset_sql: dataStatements(target.reset_sql, target),
    },
    workload: {
      ...workload,
      operations: workload.operations.map((each) => resolveOperation(each, target)),
    },
  });
}

type Place = Pick<TemplateDocument["target"], "kind" | "table_name" | "scale">;

export function resolveOperation(operation: OperationDocument, place: Place): WrittenOperation {
  const parameters = Object.entries(operation.parameters).map(
    ([name, value]) => [name, resolveValue(value, place.scale)] as const,
  );
  return {
    ...operation,
    statements: statementsFor(operation.statements, place),
    parameters: Object.fromEntries(parameters),
  };
}

/** With the number in the place of `:scale`. Any other parameter is refused. */
export function dataStatements(
  statements: readonly StatementText[],
  place: Place,
): readonly string[] {
  return statementsFor(statements, place).map((sql) => {
    const { texts, names } = parseNamedStatement(sql);
    const other = names.find((name) => name !== "scale");
    if (other !== undefined) {
      throw new OperatingError("bad_request", "never", `:${other} is not :scale`);
    }
    return texts.join(String(place.scale));
  });
}

function statementsFor(statements: readonly StatementText[], place: Place): readonly string[] {
  return statements
    .map((each) => textFor(each, place.kind).replaceAll("{table}", () => place.table_name))
    .filter((sql) => sql.trim() !== "");
}

function textFor(statement: StatementText, kind: TargetKind): string {
  if (typeof statement === "string") return statement;
  const found = statement[kind] ?? statement.default;
  if (found === undefined) {
    const has = Object.keys(statement).join(", ");
    throw new OperatingError("bad_request", "never", `there is no text for ${kind}; it has ${has}`);
  }
  return found;
}

function resolveValue(value: ValueDocument, scale: number): WrittenValue {
  const numbers = ["min", "max", "start", "plus"] as const;
  const resolved: Record<string, unknown> = { ...value };
  for (const field of numbers) {
    const given = resolved[field];
    if (typeof given === "string") resolved[field] = scaledNumber(given, scale);
  }
  return resolved as unknown as WrittenValue;
}
