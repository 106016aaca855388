/**
 * `npm run conformance -- promql|streams [DIR]`: runs another project's test suite against Capstan.
 * The suites are never part of this repository: they are looked for in DIR; without it, in
 * $CAPSTAN_CONFORMANCE/NAME, then in ../shared/conformance/NAME.
 *
 * Neither language exists yet, so every case is counted and none passes; the line says so.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const suites: Record<string, { readonly caseLine: RegExp }> = {
  promql: { caseLine: /^eval(_\w+)? /gm },
  streams: { caseLine: /^(----|====)$/gm },
};

const [name = "", folder] = process.argv.slice(2);
const suite = suites[name];
if (suite === undefined) {
  end(2, "usage: npm run conformance -- promql|streams [DIR]");
} else {
  const { CAPSTAN_CONFORMANCE: fromEnvironment } = process.env;
  const usual = [
    ...(fromEnvironment === undefined ? [] : [join(fromEnvironment, name)]),
    join(root, "..", "shared", "conformance", name),
  ];
  const places = folder === undefined ? usual : [resolve(folder)];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) {
    end(folder === undefined ? 0 : 2, `${name}: skipped, no suite at ${places.join(" or ")}`);
  } else {
    const texts = globSync("**/*.test", { cwd: found }).map((file) =>
      readFileSync(join(found, file), "utf8"),
    );
    const cases = texts.reduce((sum, text) => sum + (text.match(suite.caseLine)?.length ?? 0), 0);
    process.stdout.write(`${name} is not implemented yet: every case counts as failed\n`);
    end(1, `${name}: 0/${cases} passed`);
  }
}

function end(status: number, line: string): void {
  process.stdout.write(`${line}\n`);
  process.exitCode = status;
}
