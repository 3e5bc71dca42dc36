package wire

import (
	"encoding/binary"
	"errors"
)

var errCBOR = errors.New("malformed CBOR")

// The major types of CBOR items, and the additional information that says something else than a length.
const (
	cborBytes  = 2
	cborText   = 3
	cborList   = 4
	cborMap    = 5
	cborTag    = 6
	cborSimple = 7
	cborOpen   = 31 // the length is not said: a break ends the item
	cborBreak  = 0xff
)

// cborHead reads the head of the item that data begins with: its major type, its argument and whether it is open, and the
// length of the head. It fails with errShort if there is less than that.
func cborHead(data []byte) (major byte, argument uint64, open bool, n int, err error) {
	if len(data) == 0 {
		return 0, 0, false, 0, errShort
	}
	major, info := data[0]>>5, data[0]&31
	switch {
	case info < 24:
		return major, uint64(info), false, 1, nil
	case info == cborOpen && major >= cborBytes && major <= cborMap:
		return major, 0, true, 1, nil
	case info > 27:
		return 0, 0, false, 0, errCBOR
	}
	size := 1 << (info - 24)
	if len(data) < 1+size {
		return 0, 0, false, 0, errShort
	}
	var wide [8]byte
	copy(wide[8-size:], data[1:1+size])
	return major, binary.BigEndian.Uint64(wide[:]), false, 1 + size, nil
}

// cborItem returns the length of the item that data begins with, which is depth levels deep. It fails with errShort if
// data ends before it.
func cborItem(data []byte, depth int) (int, error) {
	if depth > maxDepth {
		return 0, errCBOR
	}
	major, argument, open, n, err := cborHead(data)
	if err != nil {
		return 0, err
	}
	switch major {
	case cborBytes, cborText:
		if open {
			return cborElements(data, n, 1<<62, true, depth)
		}
		if argument > uint64(len(data)-n) {
			return 0, errShort
		}
		return n + int(argument), nil
	case cborList:
		return cborElements(data, n, argument, open, depth)
	case cborMap:
		if argument > 1<<32 {
			return 0, errCBOR
		}
		return cborElements(data, n, 2*argument, open, depth)
	case cborTag:
		inner, err := cborItem(data[n:], depth+1)
		return n + inner, err
	}
	return n, nil
}

// cborElements returns the length of an item with count elements that begin at n, or with as many as come before a break.
func cborElements(data []byte, n int, count uint64, open bool, depth int) (int, error) {
	for i := uint64(0); open || i < count; i++ {
		if n >= len(data) {
			return 0, errShort
		}
		if open && data[n] == cborBreak {
			return n + 1, nil
		}
		inner, err := cborItem(data[n:], depth+1)
		if err != nil {
			return 0, err
		}
		n += inner
	}
	return n, nil
}

// untagged returns the item within the tags that data begins with.
func untagged(data []byte) []byte {
	for {
		major, _, _, n, err := cborHead(data)
		if err != nil || major != cborTag {
			return data
		}
		data = data[n:]
	}
}

// cborKey returns the text that the item data is, if it is one in one piece.
func cborKey(data []byte) ([]byte, bool) {
	major, length, open, n, err := cborHead(data)
	if err != nil || open || major != cborText && major != cborBytes || uint64(len(data)-n) != length {
		return nil, false
	}
	return data[n:], true
}

// cborMembers calls member with each key and value of the map that data is. It reports false for what is no map.
func cborMembers(data []byte, member func(key, value []byte) error) (bool, error) {
	major, count, open, n, err := cborHead(data)
	if err != nil || major != cborMap {
		return false, err
	}
	for i := uint64(0); open || i < count; i++ {
		if open && n < len(data) && data[n] == cborBreak {
			break
		}
		k, err := cborItem(data[n:], 1)
		if err != nil {
			return true, err
		}
		v, err := cborItem(data[n+k:], 1)
		if err != nil {
			return true, err
		}
		if err := member(data[n:n+k], data[n+k:n+k+v]); err != nil {
			return true, err
		}
		n += k + v
	}
	return true, nil
}

// appendCBOR appends what m keeps of the item data to b.
func (m *mask) appendCBOR(b, data []byte) ([]byte, error) {
	if m == nil {
		return append(b, data...), nil
	}
	data = untagged(data)
	major, count, open, n, err := cborHead(data)
	switch {
	case err != nil:
		return nil, err
	case major == cborList:
		b = append(b, data[:n]...)
		for i := uint64(0); open || i < count; i++ {
			if open && data[n] == cborBreak {
				return append(b, cborBreak), nil
			}
			size, err := cborItem(data[n:], 1)
			if err != nil {
				return nil, err
			}
			if b, err = m.appendCBOR(b, data[n:n+size]); err != nil {
				return nil, err
			}
			n += size
		}
		return b, nil
	case major != cborMap:
		return append(b, data...), nil
	}
	b = append(b, cborMap<<5|cborOpen)
	_, err = cborMembers(data, func(key, value []byte) (err error) {
		name, ok := cborKey(key)
		if !ok {
			return errCBOR
		}
		child, kept := m.member(string(name))
		if kept {
			b, err = child.appendCBOR(append(b, key...), value)
		}
		return err
	})
	return append(b, cborBreak), err
}
