/** A page of the dashboard in a browser of its own profile, and what it complained about. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Browser, Page } from "playwright-core";

export interface DashboardPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of the console and of scripts, broken content security rules included. */
  readonly complaints: string[];
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
}

export async function openPage(
  browser: Browser,
  url: string,
  { width = 1280, height = 860, colorScheme = "light" }: PageOptions = {},
): Promise<DashboardPage> {
  // A browser without a language of its own says "en-US@posix", which is none.
  const locale = "en-US";
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: async () => await context.close() };
}

export async function assertFits(page: Page): Promise<void> {
  const wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  assert.equal(await page.evaluate(wider), 0, "the page scrolls sideways");
}

/** Waits until `get` gives `want`; what the page does takes a moment. */
export async function eventually<T>(
  get: () => Promise<T>,
  want: T,
  timeoutMs: number = 60_000,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const got = await get();
    if (isDeepStrictEqual(got, want)) return;
    if (performance.now() > deadlineMs) assert.deepEqual(got, want);
    await setTimeout(20);
  }
}

/**
 * A refused request or WebSocket is also a line in the console; those are what such a test is
 * about.
 */
export function withoutRefusals(complaints: readonly string[]): readonly string[] {
  return complaints.filter((text) => !/^(Failed to load resource|WebSocket connection)/.test(text));
}
