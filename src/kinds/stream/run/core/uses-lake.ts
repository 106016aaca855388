/** Whether statements or plans need a lake: one is opened only then. Pure. */
import { type Plan, parseStatements } from "../../language/core/index.ts";

/** A text that does not parse needs none: whoever plans it says what is wrong. */
export function usesLake(text: string): boolean {
  let statements: unknown;
  try {
    statements = parseStatements(text);
  } catch {
    return false;
  }
  return has(statements, (node) => {
    if (node.kind === "join" && node.table === true) return true;
    const type = typeof node.type === "object" ? (node.type as { text?: unknown }).text : node.type;
    const isConnector = Array.isArray(node.settings) && typeof type === "string";
    return isConnector && type.toUpperCase() === "LAKE";
  });
}

/** Whether checkpoints of the plan are recorded with the lake: it writes there, or has cursors. */
export function isLakePlan({ nodes }: Plan): boolean {
  return nodes.some(({ op }) => (op.kind === "sink" || op.kind === "source") && op.type === "Lake");
}

function has(value: unknown, test: (node: Record<string, unknown>) => boolean): boolean {
  if (Array.isArray(value)) return value.some((each) => has(each, test));
  if (typeof value !== "object" || value === null) return false;
  const node = value as Record<string, unknown>;
  return test(node) || Object.values(node).some((each) => has(each, test));
}
