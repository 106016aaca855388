/**
 * A real browser from npm: playwright-core drives the headless Chromium that @sparticuz/chromium
 * packs, with the libraries and fonts that plain machines lack. Nothing is downloaded or installed
 * by hand; `CHROME_PATH` names another Chromium to use instead.
 */
import { execFile } from "node:child_process";
import { access, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";

const modules = join(import.meta.dirname, "../../node_modules");

export async function launchBrowser(): Promise<Browser> {
  const given = process.env.CHROME_PATH;
  if (given !== undefined && given !== "") return await launch(given, {});
  const directory = await unpack();
  return await launch(join(directory, "chromium"), {
    LD_LIBRARY_PATH: join(directory, "al2023/lib"),
    FONTCONFIG_PATH: join(directory, "fonts"),
  });
}

async function launch(executablePath: string, env: Record<string, string>): Promise<Browser> {
  const inherited = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return await chromium.launch({
    executablePath,
    timeout: 120_000, // A busy machine.
    env: { ...Object.fromEntries(inherited), ...env },
    // Only pages of our own are opened, and the sandbox refuses to run as root, as containers do.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none"],
  });
}

/**
 * Unpacks once per version, about two seconds. The package's own unpacking goes to the system's
 * temporary directory and takes whatever half-written file it finds there; here, a rename publishes
 * it whole.
 */
async function unpack(): Promise<string> {
  const { version } = JSON.parse(
    await readFile(join(modules, "@sparticuz/chromium/package.json"), "utf8"),
  ) as { version: string };
  const cache = join(modules, ".cache/capstan");
  const ready = join(cache, `chromium-${version}`);
  if (await exists(ready)) return ready;

  const staged = join(cache, `chromium-${version}-${process.pid}`);
  await mkdir(staged, { recursive: true });
  await promisify(execFile)(
    process.execPath,
    [fileURLToPath(new URL("./unpack-chromium.ts", import.meta.url))],
    {
      // The name of that platform is what makes it unpack the libraries as well.
      env: { ...process.env, TMPDIR: staged, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x" },
    },
  );
  await writeFile(join(staged, "fonts/fonts.conf"), fontsConf(ready));
  await rename(staged, ready).catch(async (error: unknown) => {
    await rm(staged, { recursive: true, force: true });
    if (!(await exists(ready))) throw error; // Otherwise another process was faster.
  });
  return ready;
}

function fontsConf(directory: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(directory, "fonts")}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(directory, "fonts-cache")}</cachedir>
</fontconfig>
`;
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
