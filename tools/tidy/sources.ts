/** What the checks read: sources and SPECs as text, and which files a source imports. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  /** From the project's root. */
  readonly target: string;
  readonly line: number;
}

export function readSources(root: string): SourceFile[] {
  const paths = globSync("{src,sim,bench,tools,test,web/src}/**/*.{ts,tsx}", { cwd: root });
  return read(
    root,
    paths.filter((path) => !path.includes("/gen/") && !path.includes("node_modules")),
  );
}

/** Golden scripts, whose names of tests cite rules. */
export function readScripts(root: string): SourceFile[] {
  return read(root, globSync("src/**/testdata/*.slt", { cwd: root }));
}

/** Every SPEC.md of the project, wherever it lies. */
export function readSpecs(root: string): SourceFile[] {
  return read(
    root,
    globSync("{sim,src,web}/**/SPEC.md", { cwd: root, exclude: ["**/node_modules"] }),
  );
}

export function isTest(path: string): boolean {
  return (
    /\.((test|contract)\.tsx?|slt)$/.test(path) ||
    path.includes("/testing/") ||
    path.startsWith("test/")
  );
}

const importForms = [
  // import … from, export … from, over as many lines as it takes; and a module for its effects.
  /^\s*(?:import|export)\b[^;"'`]*?\bfrom\s*"(?<path>\.[^"]+)"/gm,
  /^\s*import\s*"(?<path>\.[^"]+)"/gm,
  /\bimport\s*\(\s*["'`](?<path>\.[^"'`]+)["'`]/g,
  // A thread's or a process's own module, which is loaded by its address.
  /\bsiblingModule\(\s*import\.meta\.url\s*,\s*"(?<path>\.[^"]+)"/g,
  /\bnew URL\(\s*"(?<path>\.[^"]+\.tsx?)"\s*,\s*import\.meta\.url/g,
];

/** Imports of our own files, in the order in which they stand. */
export function importsOf(file: SourceFile): Import[] {
  const text = withoutComments(file.text);
  return importForms
    .flatMap((form) =>
      [...text.matchAll(form)].map((match) => ({
        target: normalize(join(dirname(file.path), match.groups?.path ?? "")),
        // White space before a statement may begin lines above it.
        line: lineAt(text, match.index + match[0].search(/\S/)),
      })),
    )
    .sort((one, other) => one.line - other.line);
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/**
 * Comments become white space, so that lines keep their numbers. Texts stay: paths are among them.
 */
function withoutComments(text: string): string {
  return text
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, (comment) => comment.replace(/[^\n]/g, " "))
    .replace(/^\s*\/\/.*$/gm, "");
}

function read(root: string, paths: readonly string[]): SourceFile[] {
  return paths.toSorted().map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}
