/** A page of the dashboard, against an API that answers as its test wants. */
import type { Browser, Page } from "playwright-core";
import { FakeApi } from "../../web/testing/fake-api.ts";
import { openPage, type PageOptions } from "./dashboard-page.ts";

export interface Scene extends AsyncDisposable {
  readonly api: FakeApi;
  readonly page: Page;
  readonly complaints: readonly string[];
}

/** Opens `path` when `prepare` has filled the API. */
export async function openScene(
  browser: Browser,
  path: string,
  prepare: (api: FakeApi) => void,
  options: PageOptions,
): Promise<Scene> {
  const api = new FakeApi();
  prepare(api);
  const opened = await openPage(browser, (await api.start()) + path, options);
  return {
    api,
    page: opened.page,
    complaints: opened.complaints,
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await api.stop();
    },
  };
}
