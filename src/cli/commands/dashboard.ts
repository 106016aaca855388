import { exitCodes } from "../../ground/command/exit-codes.ts";
import { Failure } from "../../ground/command/failure.ts";
import { processTerminal } from "../../ground/command/output/terminal.ts";
import { buildDashboard } from "../up/dashboard-build.ts";

export async function runDashboard({ json }: { readonly json?: boolean }): Promise<void> {
  const terminal = processTerminal();
  const outcome = await buildDashboard((line) => terminal.err(`${line}\n`));
  if (outcome === "failed") {
    throw new Failure("build_failed", "the dashboard could not be built", exitCodes.failure);
  }
  const said = {
    built: "The dashboard is built.",
    current: "The dashboard is up to date.",
    absent: "There are no sources to build from: an installed package brings its dashboard along.",
  };
  terminal.out(json === true ? `${JSON.stringify({ outcome })}\n` : `${said[outcome]}\n`);
}
