import assert from "node:assert/strict";
import { test } from "node:test";

test("[WEB69] charts are drawn whatever language the browser says it has", async () => {
  const none = () => undefined;
  const listened = { addEventListener: none, removeEventListener: none, dispatchEvent: none };
  // What uPlot expects of a browser when it is loaded.
  const browser = { devicePixelRatio: 1, matchMedia: () => listened, CustomEvent: class {} };
  const window = { ...listened, ...browser };
  Object.assign(globalThis, { window, document: listened, ...browser });
  const value = { language: "C" };
  Object.defineProperty(globalThis, "navigator", { value, configurable: true });
  assert.throws(() => new Intl.NumberFormat(navigator.language), RangeError);
  const { validLanguage } = await import("./valid-language.ts");
  assert.equal(navigator.language, "en-US");
  assert.equal(typeof (await import("uplot")).default, "function");
  for (const language of ["C", "en-US@posix", "c.UTF-8", ""]) {
    assert.equal(validLanguage(language), "en-US", language);
  }
  assert.equal(validLanguage("de-CH"), "de-CH");
});
