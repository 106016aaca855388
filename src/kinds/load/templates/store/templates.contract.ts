/** What templates in the store promise, whatever is under it. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import type { Store } from "../../../../ground/store/index.ts";
import { openFresh, type StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import { readyTemplates } from "../ready/index.ts";
import { resolveScenario } from "../resolve.ts";
import { TemplateStore } from "./template-store.ts";

const mine = { name: "mine", target: "postgres://localhost/x", workload: { preset: "MIXED" } };

export function testTemplates(fixture: StoreFixture): void {
  const open = async (
    t: TestContext,
  ): Promise<{ readonly templates: TemplateStore; readonly store: Store }> => {
    const { store } = await openFresh(fixture, t);
    return { store, templates: new TemplateStore(store, createPrng("templates")) };
  };

  describe(`templates on ${fixture.dialect}`, () => {
    test("[KT1] what was created is read back, changed and deleted; what is wrong is not kept", async (t) => {
      const { templates } = await open(t);
      const made = await templates.create(mine);
      assert.deepEqual(await templates.get(made.template_id), made);
      const [listed] = await templates.list();
      assert.deepEqual(
        [listed?.target_kind, listed?.load_mode, listed?.operations.length],
        ["postgres", "CONCURRENCY", made.document.workload.operations.length],
      );
      assert.equal(made.document.workload.preset, "CUSTOM");
      assert.equal(resolveScenario(made.document).templateId, made.template_id);
      const change = { ...made.document, template_name: "renamed", description: "why" };
      const changed = await templates.update(made.template_id, change);
      assert.deepEqual([changed.template_name, changed.description], ["renamed", "why"]);
      assert.ok(changed.updated_at_ms > made.updated_at_ms);
      const secret = { ...mine, target: "postgres://a:b@c/d" };
      await assert.rejects(templates.create({ ...mine, workload: { x: 1 } }), /no field "x"/);
      await assert.rejects(templates.update(made.template_id, secret), /password_env/);
      assert.deepEqual(await templates.get(made.template_id), changed);
      await templates.delete(made.template_id);
      assert.equal(await templates.get(made.template_id), undefined);
      await assert.rejects(templates.delete(made.template_id), { code: "not_found" });
    });

    test("[KT2] a name is taken once", async (t) => {
      const { templates } = await open(t);
      const first = await templates.create(mine);
      await assert.rejects(templates.create(mine), { code: "already_exists" });
      const second = await templates.create({ ...mine, name: "other" });
      await assert.rejects(templates.update(second.template_id, mine), { code: "already_exists" });
      const copies = [
        await templates.copy(first.template_id),
        await templates.copy(first.template_id),
      ];
      assert.deepEqual(
        copies.map(({ template_name: name }) => name),
        ["mine (copy)", "mine (copy) 2"],
      );
      const twice = { ...mine, name: "race" };
      const raced = await Promise.allSettled([templates.create(twice), templates.create(twice)]);
      assert.deepEqual(raced.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    });

    test("[KT3] ready templates are there after a start, and nobody changes them", async (t) => {
      const { templates, store } = await open(t);
      await templates.create({ ...mine, name: "Demo" });
      await templates.seed();
      await templates.seed();
      const listed = await templates.list();
      const builtIn = listed.filter(({ is_built_in: is }) => is);
      assert.equal(builtIn.length, readyTemplates().length);
      assert.equal(listed.at(-1)?.template_name, "Demo", "the person's own keeps its name");
      const demo = await templates.get("demo");
      assert.equal(demo?.template_name, "Demo (ready)");
      assert.ok(demo?.is_built_in);
      await assert.rejects(templates.update("demo", demo.document), { code: "forbidden" });
      await assert.rejects(templates.delete("demo"), { code: "forbidden" });
      await assert.rejects(templates.setPool("demo", "p", [1]), { code: "forbidden" });
      const copy = await templates.copy("demo", "my demo");
      assert.deepEqual(copy.document.workload, demo.document.workload);
      assert.equal(copy.is_built_in, false);
      await store.transaction(async ({ db }) => {
        await db
          .updateTable("test_templates")
          .set({ config: "{}" })
          .where("template_id", "=", "demo")
          .execute();
      });
      await templates.seed();
      assert.deepEqual((await templates.get("demo"))?.document, demo.document);
    });

    test("[KT4] a change of what somebody else has changed meanwhile is refused", async (t) => {
      const { templates } = await open(t);
      const made = await templates.create(mine);
      const { template_id: id, document, updated_at_ms: seen } = made;
      const changed = await templates.update(id, { ...document, description: "first" }, seen);
      await assert.rejects(templates.update(id, document, seen), { code: "conflict" });
      await templates.update(id, { ...document, description: "next" }, changed.updated_at_ms);
    });

    test("[KT5] pools are kept in chunks, copied and deleted with their template", async (t) => {
      const { templates, store } = await open(t);
      const operations = [
        {
          name: "look",
          statements: "SELECT :n",
          parameters: { n: { kind: "pool", pool: "names" } },
        },
      ];
      const names = Array.from({ length: 4_321 }, (_, at) => `name ${at}`);
      const made = await templates.create({
        ...mine,
        workload: { operations },
        pools: { names: ["a"], odd: [1, null, true, "ü"] },
      });
      const { template_id: id } = made;
      await templates.setPool(id, "names", names);
      const kept = await templates.get(id);
      assert.deepEqual(kept?.pools, [
        { pool: "names", value_count: 4_321 },
        { pool: "odd", value_count: 4 },
      ]);
      assert.deepEqual(kept?.document.pools, {});
      assert.deepEqual(await templates.pool(id, "names"), names);
      assert.equal(await templates.pool(id, "none"), undefined);
      await templates.update(id, kept?.document); // What refers to a pool that is kept is right.
      const copy = await templates.copy(id);
      await templates.delete(id);
      assert.deepEqual(await templates.pool(copy.template_id, "odd"), [1, null, true, "ü"]);
      const chunks = await store.read(({ db }) =>
        db.selectFrom("template_value_pools").select(["template_id", "chunk"]).execute(),
      );
      assert.deepEqual(
        chunks.map(({ template_id: of }) => of),
        Array.from({ length: 4 }, () => copy.template_id),
      );
      await assert.rejects(templates.setPool(copy.template_id, "names", []), /expected 1 to/);
    });
  });
}
