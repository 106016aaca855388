/**
 * The wiring of processes stays short: the main.ts of a worker and of a coordinator, and every
 * function beside them. It reads formatted code, in which a function of a module ends with the next
 * brace in the first column.
 */
import { isTest, type SourceFile } from "./sources.ts";

const mainLinesMax = 80;
const functionLinesMax = 40;

export function checkSizes(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => /^src\/(coordinator|worker)\//.test(path) && !isTest(path))
    .flatMap((file) => [...longMain(file), ...longFunctions(file)]);
}

function longMain({ path, text }: SourceFile): string[] {
  const count = text.trimEnd().split("\n").length;
  if (!path.endsWith("/main.ts") || count <= mainLinesMax) return [];
  return [`${path}:1: ${count} lines; a process's main.ts has at most ${mainLinesMax}`];
}

function longFunctions({ path, text }: SourceFile): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    if (!/^(export )?(async )?function\b/.test(line)) return [];
    const count = lines.slice(index).indexOf("}") + 1;
    if (count <= functionLinesMax) return [];
    return [`${path}:${index + 1}: a function of ${count} lines; at most ${functionLinesMax}`];
  });
}
