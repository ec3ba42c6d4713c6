package org.tarnlake.judge;

import java.util.ArrayList;
import java.util.List;

/** Exceptions as text. */
final class Failures {
    private Failures() {}

    /** One entry per exception of the chain, outermost first. */
    static List<String> chain(Throwable e) {
        List<String> out = new ArrayList<>();
        for (Throwable c = e; c != null && out.size() < 32; c = c.getCause()) {
            out.add(c.toString());
        }
        return out;
    }

    static String text(Throwable e) {
        return String.join("\ncaused by: ", chain(e));
    }
}
