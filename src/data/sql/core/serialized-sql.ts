/** The output of `json_serialize_sql`: one statement's tree, or an error. */

export type TreeNode = Readonly<Record<string, unknown>>;

/** `position` is a byte offset into the text. */
export interface SqlProblem {
  readonly message: string;
  readonly position: number | undefined;
}

export type SerializedSql =
  | { readonly kind: "statement"; readonly statement: TreeNode }
  | { readonly kind: "problem"; readonly problem: SqlProblem };

/** JSON functions of Node 24 that TypeScript's library lacks. */
const exactJson = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
  parse(
    text: string,
    reviver?: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
};

/**
 * `exact` keeps numbers beyond a double's precision as written, for trees that go back to DuckDB.
 * Infinite numbers (`1e999`), for which DuckDB's output is not JSON, become texts.
 */
export function readSerializedSql(
  serialized: string,
  options: { readonly exact: boolean },
): SerializedSql {
  const answer = parse(serialized, options.exact);
  if (!isTreeNode(answer)) return problem("the statement was not understood");
  if (answer.error === true) return { kind: "problem", problem: problemOfParser(answer) };
  const statements: readonly unknown[] = Array.isArray(answer.statements) ? answer.statements : [];
  const [statement] = statements;
  if (statements.length > 1) {
    return problem(`one statement at a time: here are ${statements.length}`);
  }
  return isTreeNode(statement)
    ? { kind: "statement", statement }
    : problem("there is no statement");
}

function parse(serialized: string, exact: boolean): unknown {
  const read = (text: string) =>
    exact
      ? exactJson.parse(text, (_key, value, { source }) =>
          typeof value === "number" && source !== undefined && String(value) !== source
            ? exactJson.rawJSON(source)
            : value,
        )
      : JSON.parse(text);
  try {
    return read(serialized);
  } catch {
    const textOrWord = /"(?:[^"\\]+|\\.)*"|-?(?:Infinity|NaN)/g;
    return read(
      serialized.replaceAll(textOrWord, (found) => (found.startsWith('"') ? found : `"${found}"`)),
    );
  }
}

function problemOfParser(answer: TreeNode): SqlProblem {
  if (answer.error_type === "not implemented") {
    return { message: "only SELECT statements can be run here", position: undefined };
  }
  const message = textOf(answer.error_message) ?? "the statement was not understood";
  const position = Number(answer.position ?? Number.NaN);
  return {
    message: `Parser Error: ${message}`,
    position: Number.isFinite(position) ? position : undefined,
  };
}

function problem(message: string): SerializedSql {
  return { kind: "problem", problem: { message, position: undefined } };
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function isTreeNode(value: unknown): value is TreeNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the value is a number kept as written, which is not a node. */
export function isExactNumber(value: unknown): boolean {
  return exactJson.isRawJSON(value);
}
