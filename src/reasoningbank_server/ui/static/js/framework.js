// Preact and htm under one name: components are functions, markup is a template, texts are always text.
import { h, render, Fragment } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { render, Fragment };
export { useState, useEffect, useRef, useMemo, useCallback } from "../vendor/hooks.js";
export const html = htm.bind(h);
