// What a person did in a place that is drawn anew: the focus, what was typed, opened and scrolled.

const REACHED = "a, button, input, select, textarea, summary, [tabindex]";

let last = null, within = ""; // has the focus, or lost it when it was disabled or taken out of this place
document.addEventListener("focusin", ({ target }) => { last = target; within = target.closest("main [id]:is(section, aside)")?.id; });
document.addEventListener("focusout", ({ target }) => { if (!target.disabled) last = null; });

// Takes down what was done in `place`; the function that it returns does the same in what stands there then.
export function kept(place) {
  const active = focused(place), index = reached(place).indexOf(active);
  const key = [...named(place, REACHED)].find(([, one]) => one === active)?.[0];
  const opened = [...named(place, "details > summary")].map(([name, one]) => [name, one.parentElement.open]);
  const typed = [...named(place, "input:not([type=range], [type=checkbox]), textarea, select")].filter(([, one]) => changed(one)).map(([name, one]) => [name, one.value]);
  const inner = [...place.querySelectorAll(".scroll, .sliders")].map((one) => [one.scrollTop, one.scrollLeft]);
  return {
    focus: (fresh) => active && (active === place ? fresh : named(fresh, REACHED).get(key) || reached(fresh)[index] || reached(fresh).at(-1) || fresh).focus({ preventScroll: true }),
    rest: (fresh) => {
      const [details, fields] = [named(fresh, "details > summary"), named(fresh, "input, textarea, select")];
      for (const [name, open] of opened) if (details.has(name)) details.get(name).parentElement.open = open;
      for (const [name, value] of typed) if (fields.has(name)) retype(fields.get(name), value);
      fresh.querySelectorAll(".scroll, .sliders").forEach((one, number) => { [one.scrollTop, one.scrollLeft] = inner[number] || [0, 0]; });
    },
  };
}

function focused(place) {
  const active = document.activeElement === document.body ? last : document.activeElement;
  if (active && !active.isConnected && within === place.id) return place;
  return active && place.contains(active) ? active : null;
}

const reached = (place) => [...place.querySelectorAll(REACHED)].filter((one) => !one.disabled || one === last);

// Elements by what they are of and what they say; the same ones in their order. A count in a summary may have changed.
function named(place, selector) {
  const found = new Map();
  for (const one of place.querySelectorAll(selector)) {
    const words = one.name || one.getAttribute("aria-label") || (one.matches("summary") ? one.textContent.replace(/\d+/g, "#") : one.textContent);
    const key = `${one.tagName} ${one.closest("[data-id]")?.dataset.id || one.closest("[data-recall]")?.dataset.recall || ""} ${words}`;
    let number = 1;
    while (found.has(`${key} ${number}`)) number++;
    found.set(`${key} ${number}`, one);
  }
  return found;
}

function changed(field) {
  return field.options ? [...field.options].some((one) => one.selected !== one.defaultSelected) : field.value !== field.defaultValue;
}

function retype(field, value) {
  if (!field.options || [...field.options].some((one) => one.value === value)) field.value = value;
}
