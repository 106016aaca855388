/** Adds a setting to what a statement was told, where it was not told so already. */
import type { AstSetting } from "./parse/ast.ts";

export function withSetting(
  settings: readonly AstSetting[],
  section: string,
  key: string,
  value: string | number | boolean,
): readonly AstSetting[] {
  if (settings.some(({ path }) => path.at(-1)?.text.toUpperCase() === key.toUpperCase())) {
    return settings;
  }
  const position = { line: 1, column: 1 };
  const path = [section, key].map((text) => ({ text, position }));
  return [...settings, { path, position, value: toValue(value) }];
}

function toValue(value: string | number | boolean): AstSetting["value"] {
  if (typeof value === "string") return { kind: "text", value };
  if (typeof value === "boolean") return { kind: "boolean", value };
  return { kind: "number", text: String(value) };
}
