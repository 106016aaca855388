/** Builds the dashboard in a process of its own: Vite needs time and memory that nothing else should lack. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageInfo } from "../../ground/process/index.ts";

export type DashboardOutcome = "built" | "current" | "absent" | "failed";

/** `absent`: there are no sources to build from, as in an installed package. */
export async function buildDashboard(say: (line: string) => void): Promise<DashboardOutcome> {
  const { root, clone } = packageInfo();
  const script = join(root, "web", "build.ts");
  if (!clone || !existsSync(script)) return "absent";
  if (!existsSync(join(root, "web", "dist", "index.html"))) say("Building the dashboard, once…");
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      output = `${output}${text}`.slice(-10_000);
    });
  }
  const [code] = (await once(child, "exit")) as [number | null];
  if (code === 0) return output.includes("up to date") ? "current" : "built";
  say(
    `The dashboard could not be built; everything else works. Its builder said:\n${output.trim()}`,
  );
  return "failed";
}
